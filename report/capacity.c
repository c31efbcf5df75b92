#include "report/capacity.h"

#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "platforms/facts.h"
#include "report/format.h"
#include "strategies/search/likeness.h"

#define BINDS_LEAST 0.05
#define ROWS_MAX    20
#define DAY_S       86400.0

static const RhCapacityCell *cell_at(const RhCapacityAnswer *a, guint i)
{
    return &g_array_index(a->cells, RhCapacityCell, i);
}

const char *rh_report_binds(const RhRehearsal *r, double *frac)
{
    const struct {
        const char *name;
        double frac;
    } terms[] = {{"network", rh_report_exposed_frac(r)},
                 {"batch", rh_report_bubble_frac(r)},
                 {"memory", rh_report_share(r, rh_phase_name(RH_PHASE_RECOMPUTE))}};
    size_t most = 0;
    for (size_t i = 1; i < G_N_ELEMENTS(terms); i++)
        if (terms[i].frac > terms[most].frac)
            most = i;
    *frac = terms[most].frac;
    if (*frac >= BINDS_LEAST)
        return terms[most].name;
    *frac = rh_report_share(r, rh_wait_name(RH_WAIT_COMPUTE));
    return "compute";
}

static int months_of(const char *date)
{
    return (int)g_ascii_strtoll(date, NULL, 10) * 12 + (int)g_ascii_strtoll(date + 5, NULL, 10);
}

int rh_report_price_months(const RhPlatform *hardware)
{
    const char *price = hardware->price_usd_per_gpu_hour.date, *newest = rh_facts_newest(hardware);
    if (!price || strlen(price) < 7 || strlen(newest) < 7)
        return 0;
    return MAX(months_of(newest) - months_of(price), 0);
}

/* Why a size has no layout, in a word. */
static const char *lacks(const RhCapacityCell *cell)
{
    return cell->timed_out ? "no time" : cell->too_large ? "memory" : "no layout";
}

/* Cells of which time left unknown whether anything fits. */
static guint unknown_count(const RhCapacityAnswer *a)
{
    guint count = 0;
    for (guint i = 0; i < a->cells->len; i++)
        count += cell_at(a, i)->timed_out && !cell_at(a, i)->r;
    return count;
}

/* --- amounts --- */

/* Units in which a column of figures stands: those of its largest. */
typedef struct {
    const char *time, *usd, *energy;
    double time_s, usd_usd, energy_j;
} Units;

static Units units_of(const GArray *cells)
{
    double seconds = 0, usd = 0, joules = 0;
    for (guint i = 0; i < cells->len; i++) {
        const RhCapacityCell *cell = &g_array_index(cells, RhCapacityCell, i);
        seconds = fmax(seconds, cell->seconds);
        usd = fmax(usd, cell->usd);
        joules = fmax(joules, cell->energy_j);
    }
    Units u = {"days", "M$", "GWh", DAY_S, 1e6, 3.6e12};
    if (seconds < DAY_S)
        u.time = "hours", u.time_s = 3600;
    if (usd < 1e6)
        u.usd = usd < 1e3 ? "$" : "k$", u.usd_usd = usd < 1e3 ? 1 : 1e3;
    if (joules < 3.6e12)
        u.energy = joules < 3.6e9 ? "kWh" : "MWh", u.energy_j = joules < 3.6e9 ? 3.6e6 : 3.6e9;
    return u;
}

char *rh_report_money(double usd)
{
    double scale = usd >= 999.5e3 ? 1e6 : usd >= 999.5 ? 1e3 : 1;
    g_autofree char *number = rh_text_number(usd / scale, 3);
    return g_strdup_printf("%s %s$", number, scale == 1e6 ? "M" : scale == 1e3 ? "k" : "");
}

char *rh_report_duration(double seconds)
{
    double scale = seconds >= DAY_S ? DAY_S : seconds >= 3600 ? 3600 : seconds >= 60 ? 60 : 1;
    g_autofree char *number = rh_text_number(seconds / scale, 3);
    return g_strdup_printf("%s %s", number,
                           scale == DAY_S  ? "d"
                           : scale == 3600 ? "h"
                           : scale == 60   ? "min"
                                           : "s");
}

/* "1.92 GWh". Caller frees. */
static char *energy(double joules)
{
    return rh_text_amount(joules / 3600, "Wh");
}

/* "tp4 pp6 dp64 vpp7": the degrees alone. Caller frees. */
static char *degrees(const RhLayout *layout)
{
    g_autofree char *title = rh_layout_title(layout);
    return g_strndup(title, strcspn(title, ","));
}

/* Appends " (to 28.7 d)": the upper end of what a goal is kept with. */
static void append_upper(GString *out, const RhCapacityCell *cell, double predicted,
                         char *(*format)(double))
{
    if (cell->allowed_frac <= 0)
        return;
    g_autofree char *upper = format(rh_upper_end(predicted, cell->allowed_frac));
    g_string_append_printf(out, " (to %s)", upper);
}

/* "27.3 d (to 28.7 d), 12.4 M$, 1.92 GWh": of what is known; of what is asked for the upper end, too. Caller frees. */
static char *totals(const RhCapacityGoal *goal, const RhCapacityCell *cell)
{
    g_autofree char *time = rh_report_duration(cell->seconds);
    GString *out = g_string_new(time);
    if (goal->by_s > 0)
        append_upper(out, cell, cell->seconds, rh_report_duration);
    if (cell->usd > 0) {
        g_autofree char *price = rh_report_money(cell->usd);
        g_string_append_printf(out, ", %s", price);
        if (goal->budget_usd > 0)
            append_upper(out, cell, cell->usd, rh_report_money);
    }
    if (cell->energy_j > 0) {
        g_autofree char *drawn = energy(cell->energy_j);
        g_string_append_printf(out, ", %s", drawn);
    }
    return g_string_free(out, FALSE);
}

/* "1,536 GPUs of dgx-h100, batch 2,304: 27.3 d, ..." Caller frees. */
static char *choice(const RhCapacityGoal *goal, const RhCapacityCell *cell)
{
    g_autofree char *gpus = rh_text_count(cell->c.job.gpus);
    g_autofree char *batch = rh_text_count(cell->c.job.global_batch);
    g_autofree char *sums = totals(goal, cell);
    return g_strdup_printf("%s GPUs of %s, batch %s: %s", gpus, cell->platform, batch, sums);
}

/* "by 30.0 d within 1.00 M$"; "" without a goal. Caller frees. */
static char *goal_text(const RhCapacityGoal *goal)
{
    g_autofree char *date = rh_report_duration(goal->by_s);
    g_autofree char *budget = rh_report_money(goal->budget_usd);
    return g_strdup_printf("%s%s%s%s%s", goal->by_s > 0 ? "by " : "", goal->by_s > 0 ? date : "",
                           goal->by_s > 0 && goal->budget_usd > 0 ? " " : "",
                           goal->budget_usd > 0 ? "within " : "",
                           goal->budget_usd > 0 ? budget : "");
}

static const char *superlative(const RhCapacityAnswer *a)
{
    bool sooner = a->goal->budget_usd > 0 && a->goal->by_s <= 0;
    return sooner ? "soonest" : rh_capacity_priced(a->cells) ? "cheapest" : "fewest GPU-hours";
}

/* --- text --- */

static void append_line(GString *out, int indent, const char *text)
{
    rh_text_wrap(out, text, indent, 79);
}

static void append_best(GString *out, const RhCapacityAnswer *a, const RhReportStyle *style)
{
    const RhCapacityCell *best = cell_at(a, (guint)a->best);
    const RhRehearsal *r = best->r;
    g_autofree char *what = choice(a->goal, best);
    g_autofree char *goal = goal_text(a->goal);
    g_autofree char *first =
        g_strdup_printf("%s%s%s: %s", superlative(a), *goal ? " " : "", goal, what);
    g_string_append(out, style->colored ? "\033[1m" : "");
    append_line(out, 6, first);
    g_string_truncate(out, out->len - 1);
    g_string_append_printf(out, "%s\n      ", style->colored ? "\033[0m" : "");
    g_autofree char *title = rh_layout_title(&r->layout);
    append_line(out, 6, title);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *bar = rh_text_number(100 * rh_report_error_frac(r), 2);
    g_autofree char *error =
        rh_report_error_frac(r) > 0 ? g_strdup_printf(" +-%s %%", bar) : g_strdup("");
    g_autofree char *rate = rh_text_rate(r->tokens_per_s_per_gpu);
    g_string_append_printf(
        out, "      %s/step%s   %.1f %% MFU   %s %s/s/GPU   %.1f of %.1f GiB\n\n", step, error,
        100 * r->mfu_frac, rate, rh_report_unit(r->pictures), r->memory.peak_bytes / RH_GIB_BYTES,
        r->memory_capacity_bytes / RH_GIB_BYTES);
    if (!rh_report_mfu_plain(r)) {
        g_autofree char *peak = rh_report_mfu_peak(r);
        g_string_truncate(out, out->len - 1);
        g_string_append_printf(out, "      MFU %s\n\n", peak);
    }
}

/* Nothing meets the goal: how far it is, and what would. */
static void append_none(GString *out, const RhCapacityAnswer *a)
{
    int32_t soonest = rh_capacity_soonest(a->cells), cheapest = rh_capacity_cheapest(a->cells);
    g_autofree char *goal = goal_text(a->goal);
    guint unknown = unknown_count(a);
    if (soonest < 0) {
        g_string_append(out, unknown == 0 ? "nothing fits at any of these sizes\n\n"
                             : unknown < a->cells->len
                                 ? "time was up before a layout was found; what was searched "
                                   "to the\nend does not fit\nhelp: more time (--timeout)\n\n"
                                 : "time was up before a layout was found\n"
                                   "help: more time (--timeout), or fewer sizes\n\n");
        return;
    }
    g_string_append_printf(out, "nothing here ends %s%s\n", goal,
                           unknown > 0 ? ", as far as time went" : "");
    g_autofree char *soon = choice(a->goal, cell_at(a, (guint)soonest));
    g_autofree char *cheap = choice(a->goal, cell_at(a, (guint)cheapest));
    g_autofree char *first = g_strdup_printf("soonest: %s", soon);
    g_autofree char *second = g_strdup_printf(
        "%s: %s", rh_capacity_priced(a->cells) ? "cheapest" : "fewest GPU-hours", cheap);
    append_line(out, 9, first);
    append_line(out, 10, second);
    g_string_append_c(out, '\n');
}

static bool is_soonest_of_platform(const RhCapacityAnswer *a, guint i)
{
    if (!cell_at(a, i)->r)
        return false;
    for (guint k = 0; k < a->cells->len; k++)
        if (k != i && cell_at(a, k)->r &&
            strcmp(cell_at(a, k)->platform, cell_at(a, i)->platform) == 0 &&
            cell_at(a, k)->seconds < cell_at(a, i)->seconds)
            return false;
    return true;
}

/* Rows are the front's alone where there are too many, and the soonest of each platform. */
static bool is_shown(const RhCapacityAnswer *a, guint i, const RhReportStyle *style)
{
    return a->cells->len <= ROWS_MAX || style->verbosity > 0 || cell_at(a, i)->pareto ||
           (int32_t)i == a->best || is_soonest_of_platform(a, i);
}

static char *cell_text(double value, bool known)
{
    return known ? rh_text_number(value, 3) : g_strdup("-");
}

static void add_row(RhTable *table, const RhCapacityAnswer *a, const Units *u, guint i)
{
    const RhCapacityCell *cell = cell_at(a, i);
    const char *mark = (int32_t)i == a->best ? "*" : cell->pareto ? "+" : "";
    if (!cell->r) {
        rh_table_rowf(table, "|%s|%d|-|-|-|-|-|-|%s", cell->platform, cell->c.job.gpus,
                      lacks(cell));
        return;
    }
    g_autofree char *layout = degrees(&cell->r->layout);
    g_autofree char *days = cell_text(cell->seconds / u->time_s, true);
    g_autofree char *usd = cell_text(cell->usd / u->usd_usd, cell->usd > 0);
    g_autofree char *drawn = cell_text(cell->energy_j / u->energy_j, cell->energy_j > 0);
    double frac = 0;
    const char *binds = rh_report_binds(cell->r, &frac);
    rh_table_rowf(table, "%s|%s|%d|%" G_GINT64_FORMAT "|%s|%s|%s|%s|%.0f|%s %.0f %%", mark,
                  cell->platform, cell->c.job.gpus, cell->c.job.global_batch, layout, days, usd,
                  drawn, 100 * cell->efficiency_frac, binds, 100 * frac);
}

/* Sizes that are not of whole nodes. */
static void append_rounded(GString *out, const RhCapacityAnswer *a)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        if (cell->asked != cell->c.job.gpus)
            g_string_append_printf(line, "%s%d GPUs of %s are %d: whole nodes",
                                   line->len ? "; " : "", cell->asked, cell->platform,
                                   cell->c.job.gpus);
    }
    if (line->len > 0) {
        g_string_append(out, "   ");
        append_line(out, 5, line->str);
    }
}

static void append_left_out(GString *out, const RhCapacityAnswer *a)
{
    for (guint i = 0; a->left_out && i < a->left_out->len; i++) {
        const RhCapacityLeftOut *size = &g_array_index(a->left_out, RhCapacityLeftOut, i);
        g_autofree char *line =
            g_strdup_printf("left out: %s of %d GPUs: %s", size->platform, size->gpus, size->why);
        g_string_append(out, "   ");
        append_line(out, 5, line);
    }
}

static void append_table(GString *out, const RhCapacityAnswer *a, const RhReportStyle *style)
{
    g_autoptr(RhTable) table = rh_table_new("<<>><>>>><");
    guint shown = 0;
    Units u = units_of(a->cells);
    rh_table_rowf(table, "|platform|GPUs|batch|layout|%s|%s|%s|eff|binds", u.time, u.usd, u.energy);
    for (guint i = 0; i < a->cells->len; i++)
        if (is_shown(a, i, style)) {
            add_row(table, a, &u, i);
            shown++;
        }
    rh_table_append(table, out, "");
    append_line(out, 3,
                "  *: the answer; +: nothing else is as good by days, money and energy; eff: rate "
                "of a GPU, % of that at the smallest size; binds: largest share of the step");
    append_rounded(out, a);
    append_left_out(out, a);
    if (shown < a->cells->len)
        g_string_append_printf(
            out, "   %u of %u sizes: the front, and the soonest of each platform; -v: all\n", shown,
            a->cells->len);
}

void rh_report_price(GString *out, const char *name, const RhPlatform *hardware)
{
    const RhFact *price = &hardware->price_usd_per_gpu_hour;
    if (price->value <= 0) {
        g_string_append_printf(out, "price of %s: not known\n", name);
        return;
    }
    int months = rh_report_price_months(hardware);
    g_autofree char *usd = rh_quantity_format(price->value, RH_QUANTITY_USD, 3);
    g_autofree char *line = g_strdup_printf("price of %s: %s a GPU-hour, %s%s%s", name, usd,
                                            *price->date ? price->date : "no date said",
                                            *price->source ? ", " : "", price->source);
    append_line(out, 7, line);
    if (months > RH_PRICE_MONTHS)
        g_string_append_printf(out, "       old: %d months before the newest figure of %s (%s)\n",
                               months, name, rh_facts_newest(hardware));
}

/* Of each platform once. */
static void append_prices(GString *out, const RhCapacityAnswer *a)
{
    for (guint i = 0; i < a->cells->len; i++) {
        const char *name = cell_at(a, i)->platform;
        if (i == 0 || strcmp(cell_at(a, i - 1)->platform, name) != 0)
            rh_report_price(out, name, a->questions[i]->hardware);
    }
}

/* Before the table: what the first line says is then of those that were. */
static void append_cut(GString *out, const RhCapacityAnswer *a)
{
    guint cut = 0, lost = 0;
    for (guint i = 0; i < a->cells->len; i++) {
        cut += cell_at(a, i)->timed_out;
        lost += cell_at(a, i)->lost_may_win;
    }
    if (cut > 0)
        g_string_append_printf(out, "time was up: %u of %u sizes were not searched to the end\n",
                               cut, a->cells->len);
    if (lost > 0)
        g_string_append_printf(out,
                               "memory ran out here: of %u of %u sizes a better layout may be "
                               "among those not rehearsed\n",
                               lost, a->cells->len);
}

static void append_fine_print(GString *out, const RhCapacityAnswer *a)
{
    const RhCapacityGoal *g = a->goal;
    const RhQuestion *q = a->questions[0];
    guint proved = 0, fit = 0, met = 0;
    for (guint i = 0; i < a->cells->len; i++) {
        proved += cell_at(a, i)->proved && cell_at(a, i)->r;
        fit += cell_at(a, i)->r != NULL;
        met += cell_at(a, i)->meets;
    }
    guint unknown = unknown_count(a);
    g_autofree char *open =
        unknown > 0 ? g_strdup_printf(" (not known of %u)", unknown) : g_strdup("");
    g_autofree char *tokens = rh_quantity_format(g->tokens, RH_QUANTITY_TOKENS, 3);
    g_autofree char *least = rh_text_count(g->batch_least);
    g_autofree char *most = rh_text_count(g->batch_most);
    bool pictures = rh_model_sees_pictures(q->c->model);
    g_autofree char *sequence = rh_text_count(q->c->job.sequence);
    g_autofree char *line = g_strdup_printf(
        "%s %s, batch %s%s%s%s%s; %u of %u sizes fit%s, %u meet the goal, %u proved to %.2g %%; "
        "not counted: failures, restarts, evaluation",
        tokens, pictures ? "pictures" : "tokens", least,
        g->batch_least < g->batch_most ? " to " : "", g->batch_least < g->batch_most ? most : "",
        pictures ? "" : " of ", pictures ? "" : sequence, fit, a->cells->len, open, met, proved,
        100 * g->gap_frac);
    append_line(out, 2, line);
}

/* What a date and a budget are kept with, and where the shown one's step has no bar of its own, of what. */
static void append_kept(GString *out, const RhCapacityAnswer *a)
{
    int32_t which = a->best >= 0 ? a->best : rh_capacity_soonest(a->cells);
    const RhCapacityCell *cell = which >= 0 ? cell_at(a, (guint)which) : NULL;
    if ((a->goal->by_s <= 0 && a->goal->budget_usd <= 0) || !cell)
        return;
    const char *what = a->goal->by_s <= 0         ? "budget: kept"
                       : a->goal->budget_usd <= 0 ? "date: kept"
                                                  : "date and budget: kept";
    RhLikeness like = rh_likeness_of(&cell->c);
    g_autofree char *widest =
        cell->r->bar ? NULL : g_strdup_printf(", the widest of %s models", like.kind);
    g_autofree char *line =
        cell->allowed_frac > 0
            ? g_strdup_printf("%s at the upper end of the error bar%s (--error-bar none: as "
                              "predicted)",
                              what, widest ? widest : "")
            : g_strdup_printf("%s as predicted: %s", what,
                              a->goal->as_predicted ? "no allowance for the error bar"
                                                    : "no error bar is known");
    append_line(out, 2, line);
}

static void append_next(GString *out, const RhCapacityAnswer *a)
{
    int32_t which = a->best >= 0 ? a->best : rh_capacity_soonest(a->cells);
    if (which < 0)
        return;
    const RhCapacityCell *cell = cell_at(a, (guint)which);
    const RhQuestion *q = a->questions[which];
    g_autofree char *workload = rh_text_path(q->workload_spec);
    g_autofree char *platform = rh_text_path(cell->platform);
    g_string_append_printf(out,
                           "next: rehearse plan -w %s -p %s --gpus %d \\\n"
                           "      --global-batch %" G_GINT64_FORMAT " --seq %" G_GINT64_FORMAT,
                           workload, platform, cell->c.job.gpus, cell->c.job.global_batch,
                           cell->c.job.sequence);
    if (q->c->job.recipe != &rh_recipe_bf16)
        g_string_append_printf(out, " --dtype %s", q->c->job.recipe->name);
    g_string_append_printf(out, " --stack %s", q->c->stack->name);
    for (const char *const *set = q->sets; *set; set++)
        if ((!g_str_has_prefix(*set, "nodes=") || strpbrk(cell->platform, ".:/")) &&
            !g_str_has_prefix(*set, "price_per_gpu_hour=")) {
            g_autofree char *word = rh_text_path(*set);
            g_string_append_printf(out, " \\\n      --set %s", word);
        }
    g_string_append_c(out, '\n');
}

char *rh_report_capacity_text(const RhCapacityAnswer *a, const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    if (a->best >= 0)
        append_best(out, a, style);
    else
        append_none(out, a);
    append_cut(out, a);
    append_table(out, a, style);
    append_prices(out, a);
    append_fine_print(out, a);
    append_kept(out, a);
    if (a->best >= 0)
        rh_report_trust(out, cell_at(a, (guint)a->best)->r);
    append_next(out, a);
    return g_string_free(out, FALSE);
}

/* --- tables --- */

static void append_number(GString *out, double value, bool known)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",%s",
                           known ? g_ascii_formatd(text, sizeof text, "%.9g", value) : "");
}

char *rh_report_capacity_csv(const RhCapacityAnswer *a)
{
    GString *out = g_string_new(
        "platform,gpus,global_batch,layout,seconds,usd,energy_j,step_time_s,tokens_per_s_per_gpu,"
        "efficiency_frac,binds,binds_frac,meets,pareto\n");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        const RhRehearsal *r = cell->r;
        double frac = 0;
        g_autofree char *layout = r ? rh_layout_format(&r->layout) : g_strdup("");
        g_autofree char *name = g_strescape(cell->platform, NULL);
        g_string_append_printf(out, "\"%s\",%d,", name, cell->c.job.gpus);
        if (r)
            g_string_append_printf(out, "%" G_GINT64_FORMAT, cell->c.job.global_batch);
        g_string_append_printf(out, ",\"%s\"", layout);
        append_number(out, cell->seconds, r != NULL);
        append_number(out, cell->usd, cell->usd > 0);
        append_number(out, cell->energy_j, cell->energy_j > 0);
        append_number(out, r ? r->step_time_s : 0, r != NULL);
        append_number(out, r ? r->tokens_per_s_per_gpu : 0, r != NULL);
        append_number(out, cell->efficiency_frac, r != NULL);
        g_string_append_printf(out, ",%s", r ? rh_report_binds(r, &frac) : lacks(cell));
        append_number(out, frac, r != NULL);
        g_string_append_printf(out, ",%s,%s\n", cell->meets ? "true" : "false",
                               cell->pareto ? "true" : "false");
    }
    return g_string_free(out, FALSE);
}

char *rh_report_capacity_markdown(const RhCapacityAnswer *a)
{
    GString *out = g_string_new(NULL);
    Units u = units_of(a->cells);
    g_string_append_printf(
        out,
        "| platform | GPUs | batch | layout | %s | %s | %s | efficiency %% | binds |\n"
        "|:---------|-----:|------:|:-------|-----:|---:|----:|-------------:|:------|\n",
        u.time, u.usd, u.energy);
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        g_autofree char *name = rh_text_markdown(cell->platform);
        if (!cell->r) {
            g_string_append_printf(out, "| %s | %d | - | - | - | - | - | - | %s |\n", name,
                                   cell->c.job.gpus, lacks(cell));
            continue;
        }
        g_autofree char *layout = rh_layout_format(&cell->r->layout);
        g_autofree char *days = cell_text(cell->seconds / u.time_s, true);
        g_autofree char *usd = cell_text(cell->usd / u.usd_usd, cell->usd > 0);
        g_autofree char *drawn = cell_text(cell->energy_j / u.energy_j, cell->energy_j > 0);
        double frac = 0;
        const char *binds = rh_report_binds(cell->r, &frac);
        g_string_append_printf(
            out, "| %s%s | %d | %" G_GINT64_FORMAT " | `%s` | %s | %s | %s | %.0f | %s %.0f %% |\n",
            name, (int32_t)i == a->best ? " **best**" : "", cell->c.job.gpus,
            cell->c.job.global_batch, layout, days, usd, drawn, 100 * cell->efficiency_frac, binds,
            100 * frac);
    }
    return g_string_free(out, FALSE);
}
