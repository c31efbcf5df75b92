/* Formats the best deployments as text. */
#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/serve/serve.h"
#include "report/serve/serve_words.h"
#include "report/warnings.h"

static char *number_or_dash(double value, RhQuantity kind)
{
    return isfinite(value) ? rh_quantity_format(value, kind, 3) : g_strdup("-");
}

/* "83/412 ms", "83 ms/1.2 s". Caller frees. */
static char *two_times(const RhServedSpread *s)
{
    g_autofree char *p50 = number_or_dash(s->p50.value, RH_QUANTITY_S),
                    *p99 = number_or_dash(s->p99.value, RH_QUANTITY_S);
    const char *unit = strchr(p50, ' '), *other = strchr(p99, ' ');
    int length = unit && g_strcmp0(unit, other) == 0 ? (int)(unit - p50) : (int)strlen(p50);
    return g_strdup_printf("%.*s/%s", length, p50, p99);
}

char *rh_report_servers(const RhDeployment *d)
{
    GString *out = g_string_new(NULL);
    for (int32_t p = 0; p < d->pools_count; p++) {
        const RhPool *pool = &d->pools[p];
        g_string_append(out, p ? " + " : "");
        if (pool->replicas > 1 || d->pools_count > 1)
            g_string_append_printf(out, "%d x ", pool->replicas);
        g_string_append_printf(out, "tp%d", pool->tp);
        if (pool->pp > 1)
            g_string_append_printf(out, " pp%d", pool->pp);
        if (pool->dp > 1)
            g_string_append_printf(out, " dp%d", pool->dp);
        if (pool->ep > 1)
            g_string_append_printf(out, " ep%d", pool->ep);
    }
    return g_string_free(out, FALSE);
}

/* Names the service level that limits the rate, or "throughput". Caller frees. */
static char *binding_level(const RhServeEntry *e, const RhSlos *slos)
{
    if (e->binding < 0)
        return g_strdup("throughput");
    g_autofree char *level = rh_slo_text(&slos->list[e->binding]);
    return g_strdup_printf("%s%s", level, e->cache_full ? " with a full KV cache" : "");
}

/* Text of a limit: "64", or "16/128" of two pools that differ. Caller frees. */
static char *limit_text(const RhDeployment *d, int32_t first, int32_t last)
{
    return d->pools_count < 2 || first == last ? g_strdup_printf("%d", first)
                                               : g_strdup_printf("%d/%d", first, last);
}

static char *batch_text(const RhDeployment *d)
{
    return limit_text(d, d->pools[0].batch, d->pools[1].batch);
}

static char *chunk_text(const RhDeployment *d)
{
    return limit_text(d, d->pools[0].chunk, d->pools[1].chunk);
}

char *rh_report_limits(const RhServeEntry *e)
{
    const RhPool *pool = &e->deployment.pools[0];
    if (e->outcome.once)
        return g_strdup_printf("batches of up to %d, window %d ms", pool->batch, pool->window);
    g_autofree char *batch = batch_text(&e->deployment), *chunk = chunk_text(&e->deployment);
    return g_strdup_printf("max batch %s, prefill chunk %s", batch, chunk);
}

static void append_once_table(GString *out, const RhServePlan *plan, int32_t top)
{
    g_autoptr(RhTable) t = rh_table_new("><>>>>>");
    rh_table_rowf(t, "#|replicas|batch|window|req/s|req/s/GPU|latency p50/p99");
    for (guint i = 0; i < MIN(plan->entries->len, (guint)top); i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        const RhPool *pool = &e->deployment.pools[0];
        g_autofree char *text = rh_report_servers(&e->deployment),
                        *rate = rh_text_number(e->rate_per_s, 3),
                        *each = rh_text_number(e->rate_per_s / e->gpus, 3),
                        *answer = two_times(&e->outcome.metrics[RH_METRIC_E2E]);
        rh_table_rowf(t, "%s%u|%s|%d|%d ms|%s|%s|%s", e->pareto ? "*" : "", i + 1, text,
                      pool->batch, pool->window, rate, each, answer);
    }
    rh_table_append(t, out, "");
}

static void append_table(GString *out, const RhServePlan *plan, int32_t top)
{
    g_autoptr(RhTable) t = rh_table_new("><>>>>>>>");
    rh_table_rowf(t, "#|replicas|GPUs|batch|chunk|req/s|req/s/GPU|TTFT p50/p99|TPOT p50/p99");
    for (guint i = 0; i < MIN(plan->entries->len, (guint)top); i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        g_autofree char *text = rh_report_servers(&e->deployment),
                        *batch = batch_text(&e->deployment), *chunk = chunk_text(&e->deployment),
                        *rate = rh_text_number(e->rate_per_s, 3),
                        *each = rh_text_number(e->rate_per_s / e->gpus, 3),
                        *ttft = two_times(&e->outcome.metrics[RH_METRIC_TTFT]),
                        *tpot = two_times(&e->outcome.metrics[RH_METRIC_TPOT]);
        rh_table_rowf(t, "%s%u|%s|%d|%s|%s|%s|%s|%s|%s", e->pareto ? "*" : "", i + 1, text, e->gpus,
                      batch, chunk, rate, each, ttft, tpot);
    }
    rh_table_append(t, out, "");
}

/* Is a higher rate, or fewer GPUs, known to fail? */
static bool is_limited(const RhServeEntry *e)
{
    return e->broken_per_s > 0 || e->fewer_broke;
}

/* Appends the rows that `what` limits: "tpot p99<40 ms (#1, #2)". */
static void append_limit(GString *line, const RhServePlan *plan, const RhSlos *slos, guint rows,
                         const char *what)
{
    g_autoptr(GString) ranks = g_string_new(NULL);
    for (guint i = 0; i < rows; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        g_autofree char *own = binding_level(e, slos);
        if (is_limited(e) && strcmp(own, what) == 0)
            g_string_append_printf(ranks, "%s#%u", ranks->len ? ", " : "", i + 1);
    }
    g_string_append_printf(line, "%s %s (%s)", line->str[line->len - 1] == ':' ? "" : ",", what,
                           ranks->str);
}

/* Returns how much higher than its own the lowest rate is that a row misses its levels at: the most of the rows; 0: no
 * higher rate was tried. */
static double broken_frac(const RhServePlan *plan, guint rows)
{
    double most = 0;
    for (guint i = 0; i < rows; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        if (e->broken_per_s > 0)
            most = fmax(most, e->broken_per_s / e->rate_per_s - 1);
    }
    return most;
}

/* Appends what limits the rate of each row. */
static void append_binding(GString *out, const RhServePlan *plan, const RhSlos *slos, int32_t top)
{
    g_autoptr(GString) line = g_string_new("limited by:");
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    guint rows = MIN(plan->entries->len, (guint)top);
    for (guint i = 0; i < rows; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        char *what = is_limited(e) ? binding_level(e, slos) : NULL;
        if (what && g_hash_table_add(seen, what))
            append_limit(line, plan, slos, rows, what);
    }
    double more = broken_frac(plan, rows);
    if (more > 0)
        g_string_append_printf(line, "; %.2g %% more requests/s would miss it, or its margin",
                               fmax(100 * more, 0.1));
    else
        g_string_append(line, "; one replica less would miss it, or its margin");
    if (g_hash_table_size(seen) > 0)
        rh_text_wrap(out, line->str, 2, 79);
}

static void append_counts(GString *out, const RhServePlan *plan, bool verbose)
{
    g_autofree char *legal = rh_text_count(plan->legal_count),
                    *fit = rh_text_count(plan->fit_count),
                    *simulated = rh_text_count(plan->simulated_count),
                    *runs = rh_text_count(plan->runs_count);
    if (plan->timed_out)
        g_string_append(out, "STOPPED by --timeout before all deployments were simulated\n");
    if (!verbose)
        return;
    g_string_append_printf(out, "searched: %s deployments, %s fit, %s simulated in %s runs\n",
                           legal, fit, simulated, runs);
    if (plan->larger_count > 0)
        g_string_append_printf(out,
                               "skipped: %d other degree%s of parallelism, which need more GPUs by "
                               "their bounds\n",
                               plan->larger_count, plan->larger_count == 1 ? "" : "s");
}

void rh_report_levels(GString *out, const RhSlos *slos)
{
    for (int32_t k = 0; k < slos->count; k++) {
        g_autofree char *level = rh_slo_text(&slos->list[k]);
        g_string_append_printf(out, "%s%s", k ? ", " : "", level);
    }
}

/* "8 replicas of tp1", "tp2", "4 x tp2 + 2 x tp4". Caller frees. */
static char *replicas_text(const RhDeployment *d)
{
    char *text = rh_report_servers(d);
    if (d->pools_count > 1 || d->pools[0].replicas == 1)
        return text;
    g_autofree char *all = text;
    return g_strdup_printf("%d replicas of %s", d->pools[0].replicas, strstr(all, "tp"));
}

/* Output tokens a second and GPU at the entry's rate; a random sample comes at another by chance. */
static double tokens_each(const RhServeEntry *e)
{
    const RhServiceMetrics *o = &e->outcome;
    double scale = o->request_rate_per_s > 0 ? e->rate_per_s / o->request_rate_per_s : 1;
    return o->tokens_per_s_per_gpu * scale;
}

/* Returns the metric's value that a level limits; 0: no such quantile is kept. */
static double measured_s(const RhServiceMetrics *o, const RhSlo *slo)
{
    const RhServedSpread *s = &o->metrics[slo->metric];
    return slo->share <= 0      ? s->mean.value
           : slo->share == 0.5  ? s->p50.value
           : slo->share == 0.9  ? s->p90.value
           : slo->share == 0.99 ? s->p99.value
                                : 0;
}

/* Appends how far the best is from its levels: "limits: ttft p99<1 s (181 ms; 228 ms with the
 * model error); ..." */
static void append_distance(GString *out, const RhServeEntry *e, const RhServePlanOptions *o,
                            const RhSloAllowance *allowance)
{
    g_autoptr(GString) line = g_string_new("limits: ");
    for (int32_t k = 0; k < o->slos.count; k++) {
        const RhSlo *slo = &o->slos.list[k];
        g_autofree char *level = rh_slo_text(slo);
        double value_s = measured_s(&e->outcome, slo);
        double frac = slo->metric == RH_METRIC_TTFT   ? allowance->ttft_frac
                      : slo->metric == RH_METRIC_TPOT ? allowance->tpot_frac
                                                      : 0;
        g_string_append_printf(line, "%s%s", k ? "; " : "", level);
        if (!(value_s > 0))
            continue;
        g_autofree char *value = number_or_dash(value_s, RH_QUANTITY_S),
                        *longer = number_or_dash(value_s * (1 + frac), RH_QUANTITY_S);
        g_string_append_printf(line, " (%s", value);
        if (frac > 0)
            g_string_append_printf(line, "; %s with the model error", longer);
        g_string_append_c(line, ')');
    }
    if (o->slos.count > 0)
        rh_text_wrap(out, line->str, 2, 79);
}

/* Appends why fewer replicas or a higher rate fail. */
static void append_reserve(GString *out, const RhServeEntry *e, const RhServePlanOptions *o)
{
    int32_t replicas = e->deployment.pools[0].replicas;
    if (o->rate_per_s <= 0 || e->deployment.pools_count > 1)
        return;
    g_autoptr(GString) line = g_string_new(NULL);
    double fewer_per_s = e->bound_per_s / replicas * (replicas - 1);
    g_autofree char *most = rh_text_number(e->rate_most_per_s, 3),
                    *fewer = rh_text_number(fewer_per_s, 3);
    if (e->rate_most_per_s > 0) {
        RhServeEntry above = *e;
        above.binding = e->most_binding;
        above.cache_full = false;
        g_autofree char *what = binding_level(&above, &o->slos);
        g_string_append_printf(line, "reserve: #1 holds the limits up to %s requests/s%s%s", most,
                               above.binding < 0 ? "; more is beyond its throughput"
                                                 : "; above that it misses ",
                               above.binding < 0 ? "" : what);
    }
    if (replicas > 1 && fewer_per_s < o->rate_per_s)
        g_string_append_printf(
            line, "%s%d replica%s could serve %s requests/s at most, whatever the limits",
            line->len > 0 ? "; " : "reserve: ", replicas - 1, replicas == 2 ? "" : "s", fewer);
    if (line->len > 0)
        rh_text_wrap(out, line->str, 2, 79);
}

static void append_answer(GString *out, const RhServeQuestion *q, const RhServePlan *plan,
                          const RhServePlanOptions *o, const char *bold, const char *plain)
{
    const RhFact *price = &q->q->c->platform->price_usd_per_gpu_hour;
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
    g_autofree char *text = replicas_text(&e->deployment), *limits = rh_report_limits(e),
                    *rate = rh_text_number(e->rate_per_s, 3),
                    *tokens = rh_text_rate(tokens_each(e));
    g_string_append_printf(out, "%sbest: %s on %d GPU%s, %s%s\n", bold, text, e->gpus,
                           e->gpus == 1 ? "" : "s", limits, plain);
    if (e->deployment.pools_count > 1)
        g_string_append(out, "      (the first do prefill, the second decode)\n");
    g_autoptr(GString) line = g_string_new("      ");
    g_string_append_printf(line, "%s%s requests/s%s", o->rate_per_s > 0 ? "" : "up to ", rate,
                           o->rate_per_s > 0 ? " as asked" : "");
    if (!e->outcome.once)
        g_string_append_printf(line, ", %s output tokens/s/GPU", tokens);
    g_string_append(line, " with ");
    rh_report_levels(line, &o->slos);
    rh_text_wrap(out, line->str, 6, 85);
    if (!q->day) /* whose price is the day's */
        rh_report_service_cost(out, &e->outcome, price, "      ");
    g_autofree char *job =
        g_strdup_printf("service: %s on %s, %s; %s, %s", q->q->c->model->name, q->q->hardware->name,
                        e->deployment.server, q->requests, q->arrivals);
    rh_text_wrap(out, job, 2, 79);
    append_distance(out, e, o, rh_serve_plan_allowance(plan, o));
    append_reserve(out, e, o);
    g_string_append_c(out, '\n');
}

/* Appends a service level that no deployment meets, however few requests arrive. */
static void append_unkept(GString *out, const RhMissedLevel *u, const RhSlos *slos)
{
    g_autofree char *level = rh_slo_text(&slos->list[u->level]),
                    *text = rh_deployment_format(&u->deployment),
                    *least = rh_quantity_format(u->least_s, RH_QUANTITY_S, 3);
    g_string_append_printf(
        out, "%s cannot be met: an idle server takes at least %s, with\n         %s\n", level,
        least, text);
}

/* Appends requests that are too long for every deployment. */
static void append_too_long(GString *out, const RhServeLargestCache *r)
{
    if (r->count == 0)
        return;
    g_autofree char *count = rh_text_count(r->count), *all = rh_text_count(r->all),
                    *longest = rh_text_count(r->longest), *tokens = rh_text_count(r->tokens),
                    *text = rh_deployment_format(&r->deployment);
    g_string_append_printf(out,
                           "too long for any KV cache: %s of %s requests, of up to %s tokens\n"
                           "         the largest cache holds %s: %s\n",
                           count, all, longest, tokens, text);
}

/* Appends requests that the best refuses, as its levels allow. */
static void append_refused(GString *out, const RhServeEntry *best)
{
    if (best->outcome.refused_count == 0)
        return;
    g_autofree char *refused = rh_text_count(best->outcome.refused_count),
                    *all = rh_text_count(best->outcome.requests_count);
    g_string_append_printf(
        out, "#1 refuses %s of %s requests, which are too long for its KV cache\n", refused, all);
}

void rh_report_serve_nearest(GString *out, const RhServePlan *plan, const RhServePlanOptions *o)
{
    const RhServeEntry *e = &plan->nearest;
    append_too_long(out, &plan->largest_cache);
    if (plan->largest_cache.count > 0 && plan->largest_cache.count == plan->largest_cache.all)
        return;
    if (e->bound_per_s > 0) {
        g_autofree char *text = rh_deployment_format(&e->deployment),
                        *what = binding_level(e, &o->slos),
                        *rate = rh_text_number(e->bound_per_s, 3);
        g_string_append_printf(out, "closest: %s\n         at most %s/s by its bound", text, rate);
        if (e->broken_per_s > 0) {
            g_autofree char *broken = rh_text_number(e->broken_per_s, 3);
            g_string_append_printf(out, "; at %s/s it misses %s", broken, what);
        }
        g_string_append_c(out, '\n');
    } else if (plan->unkept.least_s > 0) {
        append_unkept(out, &plan->unkept, &o->slos);
    } else if (!plan->timed_out) {
        g_string_append(out, "a single sequence takes longer per token than the limit\n");
    }
}

static char *nothing_text(const RhServePlan *plan, const RhServePlanOptions *o)
{
    GString *out =
        g_string_new(plan->timed_out ? "--timeout ended before a deployment was found that meets "
                                     : "no deployment meets ");
    const RhServeEntry *e = &plan->nearest;
    rh_report_levels(out, &o->slos);
    if (o->rate_per_s > 0) {
        g_autofree char *rate = rh_text_number(o->rate_per_s, 3);
        g_string_append_printf(out, " at %s/s", rate);
    }
    g_string_append_printf(out, " on %d GPU%s\n", o->gpus, o->gpus == 1 ? "" : "s");
    rh_report_serve_nearest(out, plan, o);
    if (plan->timed_out)
        g_string_append(out, "help: a longer --timeout\n");
    else if (plan->largest_cache.count > 0)
        g_string_append(out, "help: more GPUs per replica, an 8-bit KV cache (-s kv=fp8), or "
                             "shorter requests\n");
    else if (e->bound_per_s <= 0 && plan->unkept.least_s > 0)
        g_string_append(out, "help: a looser limit, a faster GPU, or more GPUs per replica\n");
    else
        g_string_append(
            out, "help: more GPUs (--gpus, -p NAME:NODES), a looser limit, or a lower rate\n");
    return g_string_free(out, FALSE);
}

char *rh_report_chance(const RhServePlanOptions *o, bool parted)
{
    g_autofree char *part = parted
                                ? g_strdup_printf(" (larger deployments: of about %d replicas, at "
                                                  "their share of the rate)",
                                                  RH_SERVE_PART)
                                : g_strdup("");
    g_autofree char *draws =
        g_strdup_printf(", and with requests drawn by %d other seeds%s", RH_SERVE_DRAWS, part);
    return g_strdup_printf("margin: the limits hold at the upper end of the 95 %% confidence "
                           "interval%s",
                           o->drawn ? draws : "");
}

/* Appends how a price is given, where none is known. */
static void append_price(GString *out, const RhServeQuestion *q)
{
    if (q->q->c->platform->price_usd_per_gpu_hour.value <= 0)
        g_string_append_printf(
            out, "price unknown: --price 2.50USD (of a GPU-hour) gives the cost per million %s\n",
            rh_model_makes_tokens(q->q->c->model) ? "tokens" : "requests");
}

/* Appends commands for the best, at the given or found rate. */
static void append_next(GString *out, const RhServeQuestion *q, const RhServeEntry *best,
                        const RhServePlanOptions *o)
{
    g_autofree char *text = rh_deployment_format(&best->deployment);
    g_string_append(out, "next: rehearse serve-simulate");
    rh_text_command(out, q->words);
    if (o->rate_per_s <= 0) {
        char rate[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(rate, sizeof rate, "%.6g", best->rate_per_s);
        g_string_append_printf(out, " --rate %s/s", rate);
    }
    g_string_append_printf(out, " \\\n      -s %s\n", text);
}

/* Says which error bar the limits hold with. Caller frees. */
static char *bar_words(const RhServeQuestion *q, const RhSloAllowance *a)
{
    static const char chance[] = "(unless --error-bar none)";
    if (!rh_slo_allows(a))
        return g_strdup("; the model error is not allowed for");
    if (!a->widest_of)
        return g_strdup_printf(
            ", all times made longer by the model error of the mean%s %s",
            q->trust && q->trust->bar ? "" : " of services whose KV cache is not full", chance);
    g_autofree char *widest = rh_report_widest(a);
    return g_strdup_printf(", all times made longer by %s %s", widest, chance);
}

char *rh_report_serve_plan_text(const RhServeQuestion *q, const RhServePlan *plan,
                                const RhServePlanOptions *o, int32_t top,
                                const RhReportStyle *style)
{
    if (plan->entries->len == 0)
        return nothing_text(plan, o);
    GString *out = g_string_new(NULL);
    append_answer(out, q, plan, o, style->colored ? "\033[1m" : "",
                  style->colored ? "\033[0m" : "");
    bool once = g_array_index(plan->entries, RhServeEntry, 0).outcome.once;
    (once ? append_once_table : append_table)(out, plan, top);
    g_string_append_printf(out, "* Pareto-optimal in requests/s per GPU and %s; batch: most %s\n",
                           once ? "latency" : "TPOT",
                           once ? "requests of a\n  batch; window: longest wait for a batch to fill"
                                : "sequences\n  at once; chunk: most prefill tokens of an "
                                  "iteration");
    append_binding(out, plan, &o->slos, top);
    append_refused(out, &g_array_index(plan->entries, RhServeEntry, 0));
    if (q->caches && style->verbosity > 0)
        rh_report_caches(out, q->caches, q->list);
    const RhServeEntry *best = &g_array_index(plan->entries, RhServeEntry, 0);
    g_autoptr(GPtrArray) watches = rh_report_serve_warnings(q, &best->outcome, true);
    rh_report_warnings_text(out, watches);
    append_counts(out, plan, style->verbosity > 0);
    rh_report_served_trust(out, q->trust);
    g_autofree char *chance = rh_report_chance(o, best->part > 0);
    g_autofree char *bar = bar_words(q, rh_serve_plan_allowance(plan, o));
    g_autofree char *kept = g_strconcat(chance, bar, NULL);
    rh_text_wrap(out, kept, 2, 79);
    append_price(out, q);
    if (q->day)
        rh_report_serve_day(out, q->day, &q->q->c->platform->price_usd_per_gpu_hour);
    append_next(out, q, best, o);
    return g_string_free(out, FALSE);
}
