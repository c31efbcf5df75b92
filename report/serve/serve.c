/* Formats the results of a service's requests as text. */
#include "report/serve/serve.h"

#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/serve/serve_words.h"
#include "report/warnings.h"

static char *seconds(double value_s)
{
    return isfinite(value_s) ? rh_quantity_format(value_s, RH_QUANTITY_S, 3) : g_strdup("-");
}

/* "±4 %"; "" where it is not known. Caller frees. */
static char *plus_minus(double frac)
{
    return isfinite(frac) && frac > 0
               ? g_strdup_printf("±%.*f %%", frac < 0.095 ? 1 : 0, 100 * frac)
               : g_strdup("");
}

/* Formats the sampling error of a mean: "±4 %"; "" where it is not known. Caller frees. */
static char *half_width(const RhEstimate *e)
{
    double frac = e->value > 0 ? (e->high - e->low) / 2 / e->value : (double)NAN;
    return isfinite(frac) ? g_strdup_printf("±%.*f %%", frac < 0.095 ? 1 : 0, 100 * frac)
                          : g_strdup("");
}

/* `model_frac`: the error bar of the model, 0 where there is none. */
static void add_row(RhTable *t, const char *name, const RhServedSpread *s, double model_frac)
{
    if (s->count == 0)
        return;
    g_autofree char *mean = seconds(s->mean.value), *half = half_width(&s->mean),
                    *p50 = seconds(s->p50.value), *p90 = seconds(s->p90.value),
                    *p99 = seconds(s->p99.value), *model = plus_minus(model_frac);
    rh_table_rowf(t, "%s|%s|%s|%s|%s|%s|%s", name, mean, half, p50, p90, p99, model);
}

static const char *part_text(RhTtftPart part, bool once)
{
    /* that part ends when the client has the token */
    return part == RH_TTFT_QUEUE     ? "API server and queue"
           : part != RH_TTFT_PREFILL ? rh_ttft_part_name(part)
           : once                    ? "model pass"
                                     : "prefill to first token";
}

/* The error bar of the model for a metric; 0: none is known. */
static double model_error(const RhServeErrorBars *trust, RhMetric metric)
{
    if (!trust || !trust->bar)
        return 0;
    return metric == RH_METRIC_TTFT   ? trust->bar->ttft_frac
           : metric == RH_METRIC_TPOT ? trust->bar->tpot_frac
                                      : 0;
}

static void append_metrics(GString *out, const RhServiceMetrics *o, const RhServeErrorBars *trust)
{
    if (o->metrics[RH_METRIC_E2E].count == 0) /* no request was completed */
        return;
    g_string_append_c(out, '\n');
    g_autoptr(RhTable) t = rh_table_new("<>>>>>>");
    rh_table_rowf(t, "|mean|95 %% CI|p50|p90|p99%s", trust && trust->bar ? "|model error" : "");
    for (int m = 0; m < RH_METRIC_LAST; m++) {
        if (!o->once)
            add_row(t, rh_metric_about((RhMetric)m), &o->metrics[m],
                    model_error(trust, (RhMetric)m));
        else if (m == RH_METRIC_TTFT) /* that is the answer */
            add_row(t, "time to the answer", &o->metrics[m], 0);
        for (int p = 0; m == RH_METRIC_TTFT && p < RH_TTFT_LAST; p++) {
            g_autofree char *name = g_strdup_printf("  %s", part_text((RhTtftPart)p, o->once));
            if (o->ttft_parts[p].mean.value > 0)
                add_row(t, name, &o->ttft_parts[p], 0);
        }
    }
    rh_table_append(t, out, "");
}

/* "ttft p99<5 s    met: 99.4 % of requests are below" */
static void append_levels(GString *out, const RhServiceMetrics *o, const RhSlos *slos)
{
    g_autoptr(RhTable) t = rh_table_new("<<<");
    for (int32_t k = 0; k < slos->count; k++) {
        const RhSlo *slo = &slos->list[k];
        const RhSloVerdict *v = &o->verdicts[k];
        g_autofree char *level = rh_slo_text(slo);
        g_autofree char *mean = slo->share > 0 ? NULL : seconds(v->measured);
        g_autofree char *within =
            mean ? g_strdup_printf("the mean is %s", mean)
                 : g_strdup_printf("%.4g %% of requests are", 100 * v->measured);
        rh_table_rowf(t, "%s|%s|%s", level,
                      v->kept_surely   ? "met"
                      : v->kept_likely ? "met, but not at the end of the error bar"
                      : v->kept        ? "met, but perhaps by chance"
                                       : "NOT MET",
                      isnan(v->measured) ? "no requests to measure it" : within);
    }
    if (slos->count > 0)
        g_string_append_c(out, '\n');
    rh_table_append(t, out, "");
}

/* Appends timeouts: "; 12 given up by their clients (no first token in 10 s)". */
static void append_given_up(GString *line, const RhServeQuestion *q, const RhServiceMetrics *o)
{
    if (o->timed_out_count == 0)
        return;
    double first_s = q->client->ttft_patience_s, end_s = q->client->e2e_patience_s;
    g_autofree char *first = seconds(first_s), *end = seconds(end_s);
    g_string_append_printf(line, "; %" G_GINT64_FORMAT " abandoned by %s client%s (",
                           o->timed_out_count, o->timed_out_count == 1 ? "its" : "their",
                           o->timed_out_count == 1 ? "" : "s");
    if (first_s > 0)
        g_string_append_printf(line, "no first token within %s", first);
    if (end_s > 0)
        g_string_append_printf(line, "%sno last token within %s", first_s > 0 ? ", or " : "", end);
    g_string_append_c(line, ')');
}

static void append_in_vain(GString *line, const RhServiceResult *r)
{
    g_autofree char *read = rh_text_large((double)r->prompt_tokens_lost),
                    *made = rh_text_large((double)r->tokens_lost);
    bool makes = r->tokens_lost > 0 && !r->once;
    if (r->prompt_tokens_lost > 0 && makes)
        g_string_append_printf(line, "; %s input and %s output tokens wasted", read, made);
    else if (r->prompt_tokens_lost > 0)
        g_string_append_printf(line, "; %s input tokens wasted", read);
    else if (makes)
        g_string_append_printf(line, "; %s output tokens wasted", made);
}

/* Appends the rate at which a random sample of requests came, where chance moved it: " (41.4/s in this sample)". */
static void append_came(GString *line, const RhServeQuestion *q, const RhServiceMetrics *o)
{
    g_autofree char *came = rh_text_number(o->offered_per_s, 3);
    if (o->offered_per_s > 0 && g_strcmp0(q->list->format, "drawn") == 0 &&
        !strstr(q->arrivals, came))
        g_string_append_printf(line, " (%s/s in this sample)", came);
}

static void append_counts(GString *out, const RhServeQuestion *q, const RhServiceResult *r,
                          const RhServiceMetrics *o)
{
    g_autofree char *count = rh_text_count(o->requests_count),
                    *done = rh_text_count(o->completed_count);
    g_autofree char *in = rh_text_large((double)o->tokens_in),
                    *generated = rh_text_large((double)o->tokens_out);
    g_autofree char *span = seconds(r->duration_s), *from = seconds(o->window_begin_s),
                    *to = seconds(o->window_begin_s + o->window_s);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "%s, %s", q->requests, q->arrivals);
    append_came(line, q, o);
    if (q->list->skipped_count > 0)
        g_string_append_printf(line, "; %" G_GINT64_FORMAT " malformed line%s left out",
                               q->list->skipped_count, q->list->skipped_count == 1 ? "" : "s");
    g_string_append(out, "\nrequests: ");
    rh_text_wrap(out, line->str, 10, 79);
    g_string_printf(line, "%s of %s requests, ", done, count);
    if (!o->once)
        g_string_append_printf(line, "%s input and %s output tokens, ", in, generated);
    g_string_append_printf(line, "in %s", span);
    if (o->steady)
        g_string_append_printf(line, "; rates are counted from %s to %s, without ramp-up and drain",
                               from, to);
    if (o->refused_count > 0)
        g_string_append_printf(line,
                               "; %" G_GINT64_FORMAT
                               " refused as too long for the KV cache, the model or max_model_len",
                               o->refused_count);
    if (o->unfinished_count > 0)
        g_string_append_printf(line, "; %" G_GINT64_FORMAT " unfinished", o->unfinished_count);
    append_given_up(line, q, o);
    append_in_vain(line, r);
    if (o->preempted_count > 0)
        g_string_append_printf(line, "; %" G_GINT64_FORMAT " preemptions", o->preempted_count);
    g_string_append(out, "done:     ");
    rh_text_wrap(out, line->str, 10, 79);
}

/* Appends the cost of failures, compared with the same requests without them. */
static void append_failures(GString *out, const RhServeQuestion *q, const RhServiceResult *r,
                            const RhServiceMetrics *o)
{
    if (!r->fails)
        return;
    RhServiceMetrics u = rh_service_metrics(q->unharmed, q->slos);
    g_autofree char *down = seconds(r->failures_count > 0 ? r->down_s / r->failures_count : 0);
    g_autofree char *mean = seconds(o->metrics[RH_METRIC_TTFT].mean.value),
                    *mean_u = seconds(u.metrics[RH_METRIC_TTFT].mean.value),
                    *p99 = seconds(o->metrics[RH_METRIC_TTFT].p99.value),
                    *p99_u = seconds(u.metrics[RH_METRIC_TTFT].p99.value);
    g_autofree char *good = rh_text_number(o->goodput_per_s, 3),
                    *good_u = rh_text_number(u.goodput_per_s, 3);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "%d", r->failures_count);
    if (r->failures_count > 0)
        g_string_append_printf(line, ", the server down for %s%s", down,
                               r->failures_count > 1 ? " each time" : "");
    g_string_append_printf(line,
                           "; %" G_GINT64_FORMAT " request%s sent again, %" G_GINT64_FORMAT
                           " lost. TTFT is %s (mean) and %s (p99), without failures %s and %s; "
                           "goodput is %s requests/s, without failures %s",
                           o->resent_count, o->resent_count == 1 ? "" : "s", o->lost_count, mean,
                           p99, mean_u, p99_u, good, good_u);
    g_string_append(out, "failures: ");
    rh_text_wrap(out, line->str, 10, 79);
}

static void append_tiers(GString *line, const RhServiceResult *r)
{
    double prompts = (double)(r->tokens_in + r->tokens_found);
    g_autofree char *load = seconds(r->load_s);
    if (r->tiers && prompts > 0)
        g_string_append_printf(
            line,
            ", %.3g %% were loaded from host memory and %.3g %% from drives, over links that were "
            "busy for %s",
            100 * (double)r->tokens_loaded[RH_CACHE_TIER_HOST] / prompts,
            100 * (double)r->tokens_loaded[RH_CACHE_TIER_NVME] / prompts, load);
}

/* Appends what looking requests up took, and where the index lies. */
static void append_searches(GString *out, const RhServeQuestion *q, const RhServiceResult *r)
{
    const RhVectorIndex *index = q->client ? q->client->index : NULL;
    if (!index)
        return;
    double count = fmax((double)r->searches.count, 1);
    g_autofree char *mean = seconds(r->searches.search_s / count),
                    *wait = seconds(r->searches.wait_s / count),
                    *most = seconds(r->searches.most_s),
                    *rate = rh_text_number(rh_vector_index_most_per_s(index), 3);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line,
                    "a search of %s takes %s in the mean, behind %s of waiting for a thread (of "
                    "%d), %s together at most; part of what requests wait. Threads that never "
                    "rest make %s searches/s",
                    index->name, mean, wait, index->threads, most, rate);
    for (int32_t i = 0; i < index->tiers_count; i++) {
        double stored = rh_vector_index_tier_bytes(index, i);
        g_autofree char *bytes = rh_quantity_format(stored, RH_QUANTITY_BYTES, 3);
        if (stored > 0)
            g_string_append_printf(line, "; %s in %s", bytes, index->tiers[i].name);
    }
    g_string_append(out, "search:   ");
    rh_text_wrap(out, line->str, 10, 79);
}

static void append_scaling(GString *out, const RhServiceResult *r)
{
    if (!r->scales)
        return;
    g_autofree char *start = seconds(r->start_s), *there = rh_text_number(r->gpu_s / 3600, 4);
    g_autofree char *line = g_strdup_printf(
        "at most %d server%s; %d started, in %s each; %s GPU-hours, %.3g GPUs in the mean",
        r->replicas_most, r->replicas_most == 1 ? "" : "s", r->starts, start, there,
        r->gpu_s / fmax(r->duration_s, 1e-9));
    g_string_append(out, "scaling:  ");
    rh_text_wrap(out, line, 10, 79);
}

static void append_energy(GString *out, const RhServeQuestion *q, const RhServiceMetrics *o)
{
    const RhPlatform *p = q->q->c->platform;
    double each_j = o->once ? o->energy_j_per_request : o->energy_j_per_token;
    if (!isfinite(each_j))
        return;
    g_autofree char *pue = p->pue.value > 0 ? g_strdup_printf(", with a PUE of %.3g", p->pue.value)
                                            : g_strdup(", without PUE");
    g_autofree char *line = g_strdup_printf(
        "%.3g kWh per million %s (%.3g J each), of GPUs with their share of the node's hosts and "
        "NICs%s",
        each_j / 3.6, o->once ? "requests" : "output tokens", each_j, pue);
    g_string_append(out, "energy:   ");
    rh_text_wrap(out, line, 10, 79);
}

/* Appends batches of a model that answers in one pass. */
static void append_batches(GString *out, const RhServiceResult *r)
{
    int64_t batches = r->iterations_stepped + r->iterations_skipped;
    g_autofree char *count = rh_text_large((double)batches);
    g_autofree char *mean = batches > 0 ? g_strdup_printf(", %.3g requests each in the mean",
                                                          (double)r->tokens_out / (double)batches)
                                        : g_strdup("");
    g_autofree char *line = g_strdup_printf("running a batch %.3g %% of the time; %s batches%s",
                                            100 * r->window.busy_frac, count, mean);
    g_string_append(out, "servers:  ");
    rh_text_wrap(out, line, 10, 79);
}

/* Appends the load of the servers. A batch of one sequence keeps a server at work, too. */
static void append_servers(GString *out, const RhServeQuestion *q, const RhServiceResult *r,
                           const RhServiceMetrics *o, bool verbose)
{
    double all = (double)(r->iterations_stepped + r->iterations_skipped);
    const RhServedCache *limits = q->caches && q->caches->count == 1 ? q->caches->pools : NULL;
    g_autofree char *iterations = rh_text_large(all),
                    *number = rh_text_number(o->sequences_mean, 3);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "busy (with one request or more) %.3g %% of the time",
                    100 * r->window.busy_frac);
    if (o->completed_count == o->requests_count) {
        g_string_append_printf(line, "; %s sequences at once per server in the mean", number);
        if (limits && limits->batch > 0)
            g_string_append_printf(line, " (limit %d)", limits->batch);
    }
    if (limits && limits->chunk > 0) {
        g_autofree char *chunk = rh_text_count(limits->chunk);
        g_string_append_printf(line, "; prefill chunk %s tokens", chunk);
    }
    g_string_append_printf(line, "; KV cache %.3g %% full at its peak", 100 * r->kv_peak_frac);
    if (verbose)
        g_string_append_printf(line, "; %s iterations", iterations);
    if (r->remembers)
        g_string_append_printf(line, "; %.3g %% of the input tokens were cached",
                               100 * rh_found_frac(r));
    append_tiers(line, r);
    g_string_append(out, "servers:  ");
    rh_text_wrap(out, line->str, 10, 79);
}

/* Warns of requests beyond the model's positions: they are simulated, but servers refuse them by default. */
static void append_beyond(GString *out, const RhServeQuestion *q, const RhServiceResult *result)
{
    const RhModel *model = q->q->c->model;
    bool goes_on = model->positions > 0 && model->position != RH_POSITION_LEARNED;
    int64_t beyond = 0;
    for (guint i = 0; goes_on && rh_model_makes_tokens(model) && i < q->list->list->len; i++) {
        const RhRequest *r = &g_array_index(q->list->list, RhRequest, i);
        bool served =
            g_array_index(result->served, RhRequestRecord, i).outcome != RH_SERVED_REFUSED;
        beyond += served && (int64_t)r->input_tokens + r->output_tokens > model->positions;
    }
    if (beyond == 0)
        return;
    g_autofree char *count = rh_text_count(beyond), *most = rh_text_count(model->positions);
    g_autofree char *line = g_strdup_printf(
        "warning: %s request%s longer than the %s positions of the model; servers refuse them by "
        "default",
        count, beyond == 1 ? " is" : "s are", most);
    rh_text_wrap(out, line, 2, 79);
}

/* Says which error bar service levels are evaluation by, if the service has none of its own. */
/* Names the server's constant between an iteration's end and the client's token, where it is half of
 * the mean TTFT or more: "delivery: 150 ms of TTFT is the constant `first` of server sglang ...". */
static void append_delivery(GString *out, const RhServer *server, const RhServiceMetrics *o)
{
    if (!server || o->once || server->first_s.value < 0.5 * o->metrics[RH_METRIC_TTFT].mean.value)
        return;
    const RhFact *first = &server->first_s;
    g_autofree char *value = seconds(first->value);
    g_autofree char *line =
        g_strdup_printf("%s of TTFT is the constant `first` of server %s (%s): %s", value,
                        server->name, rh_tag_name(first->tag), first->source);
    g_string_append(out, "delivery: ");
    rh_text_wrap(out, line, 10, 79);
}

static void append_widest(GString *out, const RhSlos *slos)
{
    if (slos->count == 0 || !slos->allowance.widest_of)
        return;
    g_autofree char *widest = rh_report_widest(&slos->allowance);
    g_autofree char *line = g_strconcat("service levels are judged by ", widest, NULL);
    g_string_append(out, "  ");
    rh_text_wrap(out, line, 4, 77);
}

/* Appends "; 3,488 of 4,000 gave up". */
static void append_impatience(GString *out, const RhServiceMetrics *o)
{
    if (o->timed_out_count == 0)
        return;
    g_autofree char *gave_up = rh_text_count(o->timed_out_count),
                    *all = rh_text_count(o->requests_count);
    g_string_append_printf(out, "; %s of %s gave up", gave_up, all);
}

/* Appends that more arrives than is served. */
static void append_overload(GString *out, const RhServiceMetrics *o)
{
    if (!o->overloaded)
        return;
    g_autofree char *came = rh_text_number(o->offered_per_s, 3),
                    *served = rh_text_number(o->request_rate_per_s, 3);
    g_string_append_printf(out, "OVERLOADED: %s requests/s arrive, %s/s are served: %s\n", came,
                           served,
                           o->timed_out_count > 0 ? "clients of the others gave up\n"
                                                    "      (times below are of served requests)"
                                                  : "the queue grows without limit\n"
                                                    "      (times below are of a finite sample)");
}

GPtrArray *rh_report_serve_warnings(const RhServeQuestion *q, const RhServiceMetrics *o, bool found)
{
    bool drawn = g_strcmp0(q->list->format, "drawn") == 0;
    return rh_report_service_warnings(q->q->c, q->beyond, o, found, drawn);
}

char *rh_report_serve_text(const RhServeQuestion *q, const RhServiceResult *r,
                           const RhServiceMetrics *o, const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    const char *bold = style->colored ? "\033[1m" : "", *plain = style->colored ? "\033[0m" : "";
    g_autofree char *rate = rh_text_number(o->request_rate_per_s, 3),
                    *tokens = rh_text_rate(o->tokens_per_s),
                    *each = rh_text_rate(o->tokens_per_s_per_gpu),
                    *share = rh_text_number(o->request_rate_per_s / MAX(r->gpus, 1), 3);
    if (o->completed_count == 0)
        g_string_append_printf(
            out, "%sno request is served%s%s", bold, plain,
            o->refused_count == o->requests_count
                ? ": all are too long for the KV cache, the model or max_model_len"
                : "");
    else if (o->once)
        g_string_append_printf(out, "%s%s requests/s served%s (%s per GPU)", bold, rate, plain,
                               share);
    else
        g_string_append_printf(out, "%s%s requests/s served, %s output tokens/s%s (%s per GPU)",
                               bold, rate, tokens, plain, each);
    if (q->slos->count > 0)
        g_string_append_printf(out, ", %.4g %% meet all service levels", 100 * o->slo_met_frac);
    append_impatience(out, o);
    g_string_append_c(out, '\n');
    append_overload(out, o);
    g_autofree char *line =
        g_strdup_printf("%s on %d GPU%s of %s, %s", q->q->c->model->name, r->gpus,
                        r->gpus == 1 ? "" : "s", q->q->hardware->name, q->deployment);
    rh_text_wrap(out, line, 2, 79);
    rh_report_service_cost(out, o, &q->q->c->platform->price_usd_per_gpu_hour, "");
    append_metrics(out, o, q->trust);
    append_levels(out, o, q->slos);
    append_counts(out, q, r, o);
    if (o->once)
        append_batches(out, r);
    else
        append_servers(out, q, r, o, style->verbosity > 0);
    if (q->caches)
        rh_report_caches(out, q->caches, q->list);
    append_searches(out, q, r);
    append_scaling(out, r);
    append_failures(out, q, r, o);
    append_energy(out, q, o);
    g_autoptr(GPtrArray) watches = rh_report_serve_warnings(q, o, false);
    rh_report_warnings_text(out, watches);
    append_beyond(out, q, r);
    if (o->completed_count > 0) {
        append_delivery(out, q->server, o);
        rh_text_wrap(out,
                     o->once ? "95 % CI: confidence interval of the mean over random requests"
                             : "95 % CI: confidence interval of the mean over random "
                               "requests; percentiles of the parts of TTFT do not add up",
                     2, 79);
        rh_report_served_trust(out, q->trust);
        append_widest(out, q->slos);
    }
    if (!style->saved_as)
        g_string_append(out, "next: add -o requests.csv for one row per request; serve-plan "
                             "--find-rate finds\n      the highest rate within limits\n");
    return g_string_free(out, FALSE);
}
