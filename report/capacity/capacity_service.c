#include "report/capacity/capacity_service.h"

#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/serve/serve_words.h"

#define ROWS_MAX 20

static const RhServiceCell *cell_at(const RhServiceCapacity *a, guint i)
{
    return &g_array_index(a->cells, RhServiceCell, i);
}

const char *rh_report_service_lacks(const RhServiceCell *cell)
{
    const RhServePlan *plan = cell->offer->plan;
    return !plan ? "memory" : plan->timed_out ? "no time" : "levels";
}

static bool cut_short(const RhServiceCapacity *a)
{
    for (guint i = 0; i < a->offers_count; i++)
        if (a->offers[i].plan && a->offers[i].plan->timed_out)
            return true;
    return false;
}

static char *seconds(double value)
{
    return isfinite(value) ? rh_quantity_format(value, RH_QUANTITY_S, 3) : g_strdup("-");
}

static char *has_price(double value, int digits)
{
    return value > 0 ? rh_text_number(value, digits) : g_strdup("-");
}

/* --- the answer --- */

/* Appends the target: "at 20/s within ttft p99<1 s". */
static void append_goal(GString *out, const RhServiceCapacity *a)
{
    g_autofree char *rate = rh_text_number(a->options->rate_per_s, 3);
    g_string_append_printf(out, "%s requests/s with ", rate);
    rh_report_levels(out, &a->options->slos);
    if (a->goal->budget_usd > 0) {
        g_autofree char *money = rh_report_money(a->goal->budget_usd);
        g_autofree char *time = rh_report_duration(a->goal->for_s);
        g_string_append_printf(out, " and %s for %s", money, time);
    }
}

/* Text of a choice: "8 GPUs of dgx-h100: 24.0 $ an hour, 0.31 $ per million output tokens, ...". Caller frees. */
static char *choice(const RhServiceCapacity *a, const RhServiceCell *cell)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "%d GPU%s of %s", cell->gpus, cell->gpus == 1 ? "" : "s",
                           cell->offer->platform);
    if (cell->usd_per_h > 0) {
        g_autofree char *hour = rh_report_money(cell->usd_per_h);
        g_autofree char *each = has_price(1e6 * cell->usd_per_token, 3);
        g_string_append_printf(out, ": %s an hour, %s $ per million %s", hour, each,
                               cell->entry->outcome.once ? "requests" : "output tokens");
        if (cell->usd_per_token_in > 0)
            g_string_append_printf(out, " (%.3g $ per million input and output tokens)",
                                   1e6 * cell->usd_per_token_both);
    }
    if (cell->usd > 0) {
        g_autofree char *all = rh_report_money(cell->usd);
        g_autofree char *time = rh_report_duration(a->goal->for_s);
        g_string_append_printf(out, ", %s for %s", all, time);
    }
    return g_string_free(out, FALSE);
}

static void append_best(GString *out, const RhServiceCapacity *a, const RhReportStyle *style)
{
    const RhServiceCell *best = cell_at(a, (guint)a->best);
    const RhServeEntry *e = best->entry;
    bool priced = rh_service_priced(a->cells);
    g_autofree char *what = choice(a, best);
    g_autofree char *first = g_strdup_printf("%s: %s", priced ? "cheapest" : "fewest GPUs", what);
    g_string_append(out, style->colored ? "\033[1m" : "");
    rh_text_wrap(out, first, 6, 79);
    g_string_truncate(out, out->len - 1);
    g_string_append_printf(out, "%s\n", style->colored ? "\033[0m" : "");
    g_autofree char *servers = rh_report_servers(&e->deployment);
    g_autofree char *told = rh_report_limits(e);
    g_string_append_printf(out, "      %s, %s, %s", servers, told, e->deployment.server);
    if (e->gpus < best->gpus)
        g_string_append_printf(out, "; uses %d of the %d GPUs", e->gpus, best->gpus);
    g_string_append(out, "\n      ");
    g_autoptr(GString) goal = g_string_new(NULL);
    append_goal(goal, a);
    rh_text_wrap(out, goal->str, 6, 79);
    g_string_append_c(out, '\n');
}

/* Appends the nearest deployment of each platform on which none meets the levels. */
static void append_nearest(GString *out, const RhServiceCapacity *a)
{
    for (guint i = 0; i < a->offers_count; i++) {
        const RhServicePlatform *o = &a->offers[i];
        if (o->plan && o->plan->entries->len > 0)
            continue;
        g_string_append_printf(out, "%s: ", o->platform);
        if (o->plan) {
            rh_report_serve_nearest(out, o->plan, a->options);
            if (o->plan->timed_out)
                g_string_append(out, "stopped by --timeout\n");
        } else {
            /* its fact and its note; help was given above */
            g_auto(GStrv) lines = g_strsplit(o->why, "\n", -1);
            g_autoptr(GString) why = g_string_new(lines[0]);
            if (lines[1] && g_str_has_prefix(lines[1], "note: "))
                g_string_append_printf(why, "; %s", lines[1] + strlen("note: "));
            rh_text_wrap(out, why->str, 7, 79);
        }
    }
}

static bool is_any_served(const RhServiceCapacity *a)
{
    for (guint i = 0; i < a->cells->len; i++)
        if (cell_at(a, i)->entry)
            return true;
    return false;
}

/* Cheapest cell, whatever the budget. */
static const RhServiceCell *cheapest(const RhServiceCapacity *a)
{
    const RhServiceCell *least = NULL;
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServiceCell *cell = cell_at(a, i);
        if (cell->entry && (!least || cell->usd_per_h < least->usd_per_h))
            least = cell;
    }
    return least;
}

static void append_none(GString *out, const RhServiceCapacity *a)
{
    bool served = is_any_served(a);
    g_autoptr(GString) line =
        g_string_new(served         ? "no platform serves "
                     : cut_short(a) ? "--timeout ended before anything was found "
                                      "that serves "
                                    : "no platform serves ");
    append_goal(line, a);
    rh_text_wrap(out, line->str, 6, 79);
    if (served) {
        g_autofree char *least = choice(a, cheapest(a));
        g_string_append_printf(out, "cheapest: %s\n", least);
    } else {
        g_string_append(out, cut_short(a) ? "help: a longer --timeout\n"
                                          : "help: more GPUs (--gpus), a looser limit, or a lower "
                                            "rate\n");
    }
    g_string_append_c(out, '\n');
}

/* --- the table --- */

/* Is the cell shown as a row? Where there are too many, only the Pareto front, and the first of
 * each platform. */
static bool is_shown(const RhServiceCapacity *a, guint i, const RhReportStyle *style)
{
    bool first = i == 0 || cell_at(a, i - 1)->offer != cell_at(a, i)->offer;
    return a->cells->len <= ROWS_MAX || style->verbosity > 0 || cell_at(a, i)->pareto ||
           (int32_t)i == a->best || first;
}

char *rh_report_service_binds(const RhServeEntry *e, const RhSlos *slos)
{
    bool fewer = e->deployment.pools_count == 1 && e->deployment.pools[0].replicas > 1;
    if (!fewer)
        return g_strdup("-");
    return e->binding < 0 ? g_strdup("speed")
                          : g_strdup_printf("%s%s", rh_metric_name(slos->list[e->binding].metric),
                                            e->cache_full ? ", cache" : "");
}

static void add_row(RhTable *table, const RhServiceCapacity *a, guint i)
{
    const RhServiceCell *cell = cell_at(a, i);
    const RhServeEntry *e = cell->entry;
    const char *mark = (int32_t)i == a->best ? "*" : cell->pareto ? "+" : "";
    g_autofree char *gpus = cell->gpus > 0 ? g_strdup_printf("%d", cell->gpus) : g_strdup("-");
    if (!e) {
        rh_table_rowf(table, "|%s|%s|-|-|-|-|-|-|%s", cell->offer->platform, gpus,
                      rh_report_service_lacks(cell));
        return;
    }
    const RhServedSpread *metrics = e->outcome.metrics;
    g_autofree char *servers = rh_report_servers(&e->deployment),
                    *hour = has_price(cell->usd_per_h, 3),
                    *each = has_price(1e6 * cell->usd_per_token, 3),
                    *ttft = seconds(metrics[RH_METRIC_TTFT].p99.value),
                    *tpot = seconds(metrics[RH_METRIC_TPOT].p99.value),
                    *whole = seconds(rh_service_answer_s(e)),
                    *next = rh_report_service_binds(e, &a->options->slos);
    rh_table_rowf(table, "%s|%s|%s|%s|%s|%s|%s|%s|%s|%s", mark, cell->offer->platform, gpus,
                  servers, hour, each, ttft, tpot, whole,
                  strcmp(next, "speed") == 0 ? "throughput" : next);
}

/* Appends sizes that are not whole nodes. */
static void append_rounded(GString *out, const RhServiceCapacity *a)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServiceCell *cell = cell_at(a, i);
        if (cell->asked != cell->gpus)
            g_string_append_printf(line, "%s%d GPUs of %s are rounded up to %d, whole nodes",
                                   line->len ? "; " : "", cell->asked, cell->offer->platform,
                                   cell->gpus);
    }
    if (line->len > 0) {
        g_string_append(out, "   ");
        rh_text_wrap(out, line->str, 5, 79);
    }
}

static void append_table(GString *out, const RhServiceCapacity *a, const RhReportStyle *style)
{
    g_autoptr(RhTable) table = rh_table_new("<<><>>>>><");
    bool once = !rh_model_makes_tokens(a->question->q->c->model);
    guint shown = 0;
    rh_table_rowf(table, "|platform|GPUs|replicas|$/h|%s|TTFT|TPOT|E2E|limit",
                  once ? "$/M req" : "$/M tok");
    for (guint i = 0; i < a->cells->len; i++)
        if (is_shown(a, i, style)) {
            add_row(table, a, i);
            shown++;
        }
    rh_table_append(table, out, "");
    if (!is_any_served(a))
        return;
    g_autofree char *legend = g_strdup_printf(
        "  * recommended; + Pareto-optimal in cost and E2E latency; %s; TTFT, TPOT: p99; E2E: mean "
        "latency; limit: what one replica less would miss",
        once ? "$/M req: per million requests" : "$/M tok: per million output tokens");
    rh_text_wrap(out, legend, 2, 79);
    append_rounded(out, a);
    if (shown < a->cells->len)
        g_string_append_printf(
            out, "  %u of %u sizes: the Pareto front, and the first of each platform; -v: all\n",
            shown, a->cells->len);
}

/* --- the rest --- */

/* Appends the platform with the rented nodes, as words of a command line. */
static void append_platform(GString *out, const RhServiceCell *cell, const RhQuestion *q)
{
    const RhServicePlatform *o = cell->offer;
    g_autofree char *name = rh_text_path(o->platform);
    int32_t nodes = (cell->gpus + o->gpus_per_node - 1) / o->gpus_per_node;
    bool said = strpbrk(o->platform, ".:/");
    g_string_append_printf(out, "-p %s", name);
    if (!said)
        g_string_append_printf(out, ":%d", nodes);
    else if (nodes != q->hardware->nodes_count)
        g_string_append_printf(out, " --set nodes=%d", nodes);
}

static void append_next(GString *out, const RhServiceCapacity *a)
{
    if (a->best < 0)
        return;
    const RhServiceCell *cell = cell_at(a, (guint)a->best);
    const RhQuestion *q = a->questions[cell->offer - a->offers];
    g_autofree char *workload = rh_text_path(q->workload_spec);
    g_autofree char *text = rh_deployment_format(&cell->entry->deployment);
    g_string_append_printf(out, "next: rehearse serve-simulate -w %s ", workload);
    append_platform(out, cell, q);
    if (q->c->job.recipe != &rh_recipe_bf16)
        g_string_append_printf(out, " --dtype %s", q->c->job.recipe->name);
    g_string_append_printf(out, " \\\n      -s %s", text);
    rh_text_command(out, a->words);
    for (const char *const *set = q->sets; *set; set++)
        if (!g_str_has_prefix(*set, "nodes=") && !g_str_has_prefix(*set, "price_per_gpu_hour=")) {
            g_autofree char *word = rh_text_path(*set);
            g_string_append_printf(out, " \\\n      --set %s", word);
        }
    g_string_append_c(out, '\n');
}

/* Appends the margin with which levels are kept, and where there is none. */
static void append_kept(GString *out, const RhServiceCapacity *a)
{
    bool parted = false;
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServeEntry *e = g_array_index(a->cells, RhServiceCell, i).entry;
        parted |= e && e->part > 0;
    }
    g_autofree char *chance = rh_report_chance(a->options, parted);
    g_autoptr(GString) line =
        g_string_new("each row is the deployment with the lowest latency of its size; ");
    g_string_append(line, chance);
    g_autoptr(GString) bare = g_string_new(NULL), wide = g_string_new(NULL);
    guint bare_count = 0, wide_count = 0;
    const RhSloAllowance *widest = NULL;
    for (guint i = 0; i < a->offers_count; i++) {
        const RhSloAllowance *allowance = &a->offers[i].allowance;
        if (!rh_slo_allows(allowance)) {
            g_string_append_printf(bare, "%s%s", bare_count++ ? ", " : "", a->offers[i].platform);
        } else if (allowance->widest_of) {
            g_string_append_printf(wide, "%s%s", wide_count++ ? ", " : "", a->offers[i].platform);
            widest = allowance;
        }
    }
    if (bare_count < a->offers_count)
        g_string_append(line,
                        ", and with times longer by the model error (unless --error-bar none)");
    if (widest) {
        g_autofree char *words = rh_report_widest(widest);
        g_string_append_printf(line, "; nothing comparable to %s was measured: by %s", wide->str,
                               words);
    }
    if (bare_count > 0)
        g_string_append_printf(line, "; on %s the model error is not allowed for", bare->str);
    rh_text_wrap(out, line->str, 2, 79);
}

char *rh_report_service_capacity_text(const RhServiceCapacity *a, const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    if (a->best >= 0)
        append_best(out, a, style);
    else
        append_none(out, a);
    append_table(out, a, style);
    append_nearest(out, a);
    for (guint i = 0; i < a->offers_count; i++)
        rh_report_price(out, a->offers[i].platform, a->questions[i]->hardware);
    if (!rh_service_priced(a->cells))
        g_string_append(out, "some prices are unknown: cost is counted in GPUs\n");
    g_autofree char *asked =
        g_strdup_printf("%s, %s", a->question->requests, a->question->arrivals);
    g_autofree char *requests = g_strdup_printf("%s: %s", a->question->q->c->model->name, asked);
    rh_text_wrap(out, requests, 2, 79);
    if (cut_short(a))
        g_string_append(
            out, "STOPPED by --timeout before all deployments were simulated: another may cost "
                 "less\n");
    append_kept(out, a);
    append_next(out, a);
    return g_string_free(out, FALSE);
}

/* --- tables --- */

static void append_number(GString *out, double value, bool there)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(
        out, ",%s",
        there && isfinite(value) ? g_ascii_formatd(text, sizeof text, "%.9g", value) : "");
}

char *rh_report_service_capacity_csv(const RhServiceCapacity *a)
{
    GString *out = g_string_new(
        "platform,gpus,deployment,gpus_used,usd_per_hour,usd_per_million,usd,ttft_p99_s,tpot_p99_s,"
        "e2e_mean_s,binds,meets,pareto\n");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServiceCell *cell = cell_at(a, i);
        const RhServeEntry *e = cell->entry;
        g_autofree char *name = g_strescape(cell->offer->platform, NULL);
        g_autofree char *text = e ? rh_deployment_format(&e->deployment) : g_strdup("");
        g_autofree char *next = e ? rh_report_service_binds(e, &a->options->slos) : NULL;
        g_string_append_printf(out, "\"%s\",%d,\"%s\"", name, cell->gpus, text);
        append_number(out, e ? e->gpus : 0, e);
        append_number(out, cell->usd_per_h, cell->usd_per_h > 0);
        append_number(out, 1e6 * cell->usd_per_token, cell->usd_per_token > 0);
        append_number(out, cell->usd, cell->usd > 0);
        append_number(out, e ? e->outcome.metrics[RH_METRIC_TTFT].p99.value : 0, e);
        append_number(out, e ? e->outcome.metrics[RH_METRIC_TPOT].p99.value : 0, e);
        append_number(out, e ? rh_service_answer_s(e) : 0, e);
        g_string_append_printf(out, ",\"%s\",%s,%s\n", e ? next : rh_report_service_lacks(cell),
                               cell->meets ? "true" : "false", cell->pareto ? "true" : "false");
    }
    return g_string_free(out, FALSE);
}

char *rh_report_service_capacity_markdown(const RhServiceCapacity *a)
{
    GString *out =
        g_string_new("| platform | GPUs | deployment | $/h | $/M | TTFT p99 | TPOT p99 | "
                     "answer | binds |\n"
                     "|:---------|-----:|:-----------|----:|----:|---------:|---------:|"
                     "-------:|:------|\n");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhServiceCell *cell = cell_at(a, i);
        const RhServeEntry *e = cell->entry;
        g_autofree char *name = rh_text_markdown(cell->offer->platform);
        if (!e) {
            g_string_append_printf(out, "| %s | %d | - | - | - | - | - | - | %s |\n", name,
                                   cell->gpus, rh_report_service_lacks(cell));
            continue;
        }
        const RhServedSpread *metrics = e->outcome.metrics;
        g_autofree char *text = rh_deployment_format(&e->deployment),
                        *hour = has_price(cell->usd_per_h, 3),
                        *each = has_price(1e6 * cell->usd_per_token, 3),
                        *ttft = seconds(metrics[RH_METRIC_TTFT].p99.value),
                        *tpot = seconds(metrics[RH_METRIC_TPOT].p99.value),
                        *whole = seconds(rh_service_answer_s(e)),
                        *next = rh_report_service_binds(e, &a->options->slos);
        g_string_append_printf(out, "| %s%s | %d | `%s` | %s | %s | %s | %s | %s | %s |\n", name,
                               (int32_t)i == a->best ? " **best**" : "", cell->gpus, text, hour,
                               each, ttft, tpot, whole,
                               strcmp(next, "speed") == 0 ? "throughput" : next);
    }
    return g_string_free(out, FALSE);
}
