/* Formats the results of a service's requests as JSON and CSV. */
#include <math.h>

#include "report/json/json_common.h"
#include "report/serve/serve.h"
#include "report/serve/serve_words.h"
#include "report/warnings.h"

static void put_or_null(RhJsonWriter *w, const char *key, double value)
{
    if (isfinite(value))
        rh_json_put_number(w, key, value);
    else
        rh_json_put_null(w, key);
}

static void put_spread(RhJsonWriter *w, const char *key, const RhServedSpread *s)
{
    rh_json_begin_object(w, key);
    put_or_null(w, "mean", s->mean.value);
    put_or_null(w, "p50", s->p50.value);
    put_or_null(w, "p90", s->p90.value);
    put_or_null(w, "p99", s->p99.value);
    put_or_null(w, "mean_low", s->mean.low);
    put_or_null(w, "mean_high", s->mean.high);
    put_or_null(w, "p50_low", s->p50.low);
    put_or_null(w, "p50_high", s->p50.high);
    put_or_null(w, "p90_low", s->p90.low);
    put_or_null(w, "p90_high", s->p90.high);
    put_or_null(w, "p99_low", s->p99.low);
    put_or_null(w, "p99_high", s->p99.high);
    rh_json_put_int(w, "count", s->count);
    rh_json_end_object(w);
}

static void put_levels(RhJsonWriter *w, const RhServiceMetrics *o, const RhSlos *slos)
{
    rh_json_begin_array(w, "service_levels");
    for (int32_t k = 0; k < slos->count; k++) {
        const RhSlo *slo = &slos->list[k];
        const RhSloVerdict *v = &o->verdicts[k];
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "metric", rh_metric_name(slo->metric));
        if (slo->share > 0)
            rh_json_put_number(w, "share_frac", slo->share);
        else
            rh_json_put_null(w, "share_frac");
        rh_json_put_number(w, "limit_s", slo->limit_s);
        put_or_null(w, slo->share > 0 ? "within_frac" : "mean_s", v->measured);
        put_or_null(w, "margin", v->margin);
        rh_json_put_bool(w, "kept", v->kept);
        rh_json_put_bool(w, "kept_surely", v->kept_surely);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_metrics(RhJsonWriter *w, const RhServiceMetrics *o)
{
    static const char *const keys[] = {"ttft_s", "tpot_s", "tbt_s", "e2e_s"};
    for (int m = 0; m < RH_METRIC_LAST; m++)
        put_spread(w, keys[m], &o->metrics[m]);
    rh_json_begin_object(w, "ttft_parts_s");
    for (int p = 0; p < RH_TTFT_LAST; p++)
        put_spread(w, rh_ttft_part_name((RhTtftPart)p), &o->ttft_parts[p]);
    rh_json_end_object(w);
}

void rh_put_outcome(RhJsonWriter *w, const RhServiceMetrics *o, const RhSlos *slos)
{
    rh_json_put_int(w, "requests_count", o->requests_count);
    rh_json_put_int(w, "completed_count", o->completed_count);
    rh_json_put_int(w, "refused_count", o->refused_count);
    rh_json_put_int(w, "unfinished_count", o->unfinished_count);
    rh_json_put_int(w, "timed_out_count", o->timed_out_count);
    rh_json_put_int(w, "lost_count", o->lost_count);
    rh_json_put_int(w, "resent_count", o->resent_count);
    rh_json_put_int(w, "preempted_count", o->preempted_count);
    rh_json_put_number(w, "duration_s", o->duration_s);
    rh_json_put_bool(w, "steady", o->steady);
    rh_json_put_number(w, "window_begin_s", o->window_begin_s);
    rh_json_put_number(w, "window_s", o->window_s);
    rh_json_put_number(w, "throughput_tokens_per_s", o->tokens_per_s);
    rh_json_put_number(w, "throughput_tokens_per_s_per_gpu", o->tokens_per_s_per_gpu);
    put_or_null(w, "cost_usd_per_million_tokens", 1e6 * o->cost_usd_per_token);
    put_or_null(w, "cost_usd_per_million_tokens_in", 1e6 * o->cost_usd_per_token_in);
    put_or_null(w, "cost_usd_per_million_tokens_both", 1e6 * o->cost_usd_per_token_both);
    put_or_null(w, "energy_j_per_token", o->energy_j_per_token);
    put_or_null(w, "cost_usd_per_million_requests", 1e6 * o->cost_usd_per_request);
    put_or_null(w, "energy_j_per_request", o->energy_j_per_request);
    rh_json_put_number(w, "request_rate_per_s", o->request_rate_per_s);
    rh_put_known(w, "offered_rate_per_s", o->offered_per_s);
    rh_json_put_bool(w, "overloaded", o->overloaded);
    rh_json_put_number(w, "sequences_mean", o->sequences_mean);
    put_metrics(w, o);
    rh_json_put_number(w, "slo_met_frac", o->slo_met_frac);
    rh_json_put_number(w, "goodput_per_s", o->goodput_per_s);
    put_levels(w, o, slos);
    rh_json_put_int(w, "tokens_in_count", o->tokens_in);
    rh_json_put_int(w, "tokens_out_count", o->tokens_out);
}

void rh_put_requests(RhJsonWriter *w, const RhServeQuestion *question)
{
    g_autofree char *hash = rh_requests_hash(question->list);
    rh_json_begin_object(w, "requests");
    rh_json_put_string(w, "spec", question->requests);
    rh_json_put_string(w, "format", question->list->format);
    rh_json_put_string(w, "sha256", hash);
    rh_json_put_string(w, "arrivals", question->arrivals);
    rh_json_put_int(w, "skipped_count", question->list->skipped_count);
    rh_json_end_object(w);
}

void rh_put_serve_head(RhJsonWriter *w, const RhServeQuestion *question)
{
    const RhQuestion *q = question->q;
    rh_json_put_string(w, "schema", "rehearse.serve/1");
    rh_json_put_string(w, "version", q->version);
    rh_put_words(w, "argv", q->argv);
    rh_json_begin_object(w, "inputs");
    rh_put_hardware(w, q);
    rh_json_put_string(w, "dtype", q->c->job.recipe->name);
    rh_put_requests(w, question);
    rh_put_words(w, "sets", q->sets);
    rh_json_put_int(w, "seed", q->seed);
    rh_json_end_object(w);
}

/* Writes failures; null: no server can fail. */
static void put_failures(RhJsonWriter *w, const RhServeQuestion *question, const RhServiceResult *r)
{
    if (!r->fails) {
        rh_json_put_null(w, "failures");
        return;
    }
    RhServiceMetrics unharmed = rh_service_metrics(question->unharmed, question->slos);
    rh_json_begin_object(w, "failures");
    rh_json_put_int(w, "count", r->failures_count);
    rh_json_put_number(w, "down_s", r->down_s);
    put_spread(w, "ttft_without_s", &unharmed.metrics[RH_METRIC_TTFT]);
    rh_json_put_number(w, "slo_met_without_frac", unharmed.slo_met_frac);
    rh_json_put_number(w, "goodput_without_per_s", unharmed.goodput_per_s);
    rh_json_end_object(w);
}

/* Writes the server's constant between an iteration's end and the client's token; null: no token. */
static void put_delivery(RhJsonWriter *w, const RhServer *server, bool once)
{
    if (!server || once) {
        rh_json_put_null(w, "delivery");
        return;
    }
    rh_json_begin_object(w, "delivery");
    rh_json_put_number(w, "value_s", server->first_s.value);
    rh_json_put_string(w, "tag", rh_tag_name(server->first_s.tag));
    rh_json_put_string(w, "source", server->first_s.source);
    rh_json_end_object(w);
}

/* Writes the searches that requests waited for, where there is an index. */
static void put_searches(RhJsonWriter *w, const RhServeQuestion *q, const RhServiceResult *r)
{
    const RhVectorIndex *index = q->client ? q->client->index : NULL;
    if (!index)
        return;
    double count = fmax((double)r->searches.count, 1);
    rh_json_begin_object(w, "search");
    rh_json_put_string(w, "index", index->name);
    rh_json_put_string(w, "source", index->source);
    rh_json_put_number(w, "search_s", r->searches.search_s / count);
    rh_json_put_number(w, "search_wait_s", r->searches.wait_s / count);
    rh_json_put_number(w, "search_most_s", r->searches.most_s);
    rh_json_put_number(w, "searches_per_s_most", rh_vector_index_most_per_s(index));
    rh_json_begin_object(w, "tier_bytes");
    for (int32_t i = 0; i < index->tiers_count; i++)
        rh_json_put_number(w, index->tiers[i].name, rh_vector_index_tier_bytes(index, i));
    rh_json_end_object(w);
    rh_json_end_object(w);
}

char *rh_report_serve_json(const RhServeQuestion *question, const RhServiceResult *r,
                           const RhServiceMetrics *o)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_serve_head(w, question);
    rh_json_put_string(w, "deployment", question->deployment);
    rh_json_put_int(w, "gpus_count", r->gpus);
    rh_json_put_number(w, "kv_peak_frac", r->kv_peak_frac);
    if (question->caches)
        rh_put_caches(w, question->caches);
    rh_json_put_number(w, "busy_frac", r->window.busy_frac);
    put_or_null(w, "prefix_hit_frac", rh_found_frac(r));
    rh_json_put_int(w, "host_loaded_tokens_count", r->tokens_loaded[RH_CACHE_TIER_HOST]);
    rh_json_put_int(w, "nvme_loaded_tokens_count", r->tokens_loaded[RH_CACHE_TIER_NVME]);
    rh_json_put_number(w, "load_s", r->load_s);
    rh_json_put_number(w, "gpu_s", r->gpu_s);
    rh_json_put_int(w, "replicas_most_count", r->replicas_most);
    rh_json_put_int(w, "starts_count", r->starts);
    rh_json_put_int(w, "tokens_lost_count", r->tokens_lost);
    rh_json_put_int(w, "prompt_tokens_lost_count", r->prompt_tokens_lost);
    put_failures(w, question, r);
    put_searches(w, question, r);
    rh_put_outcome(w, o, question->slos);
    rh_put_served_trust(w, question->trust);
    put_delivery(w, question->server, o->once);
    g_autoptr(GPtrArray) watches = rh_report_serve_warnings(question, o, false);
    rh_put_warnings(w, watches);
    rh_json_put_int(w, "iterations_stepped_count", r->iterations_stepped);
    rh_json_put_int(w, "iterations_skipped_count", r->iterations_skipped);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

char *rh_report_serve_unanswered_json(const RhServeQuestion *question, bool timed_out,
                                      const char *why)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_serve_head(w, question);
    rh_json_put_string(w, "deployment", question->deployment);
    rh_json_put_bool(w, "timed_out", timed_out);
    rh_json_put_string(w, "reason", why);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- CSV --- */

static void append_seconds(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(
        out, ",%s", isfinite(value) ? g_ascii_formatd(text, sizeof text, "%.9g", value) : "");
}

char *rh_report_serve_csv(const RhServeQuestion *question, const RhServiceResult *r)
{
    static const char *const outcomes[] = {[RH_SERVED_UNFINISHED] = "unfinished",
                                           [RH_SERVED_DONE] = "done",
                                           [RH_SERVED_REFUSED] = "refused",
                                           [RH_SERVED_TIMED_OUT] = "timed_out",
                                           [RH_SERVED_LOST] = "lost"};
    GString *out =
        g_string_new("request,session,input_tokens,found_tokens,output_tokens,outcome,replica,"
                     "preempted,arrive_s,admit_s,first_s,end_s,ttft_s,tpot_s,tbt_max_s,"
                     "e2e_s");
    for (int p = 0; p < RH_TTFT_LAST; p++)
        g_string_append_printf(out, ",%s_s", rh_ttft_part_name((RhTtftPart)p));
    g_string_append(out, ",resent,lost_tokens,lost_prompt_tokens\n");
    for (guint i = 0; i < r->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(r->served, RhRequestRecord, i);
        const RhRequest *q = &g_array_index(question->list->list, RhRequest, i);
        g_string_append_printf(out, "%u,%d,%d,%d,%d,%s,%d,%d", i, q->session, s->input_tokens,
                               s->found_tokens, s->output_tokens, outcomes[s->outcome], s->replica,
                               s->preempted_count);
        append_seconds(out, s->t_arrive_s);
        append_seconds(out, s->t_admit_s);
        append_seconds(out, s->t_first_s);
        append_seconds(out, s->t_end_s);
        bool done = s->outcome == RH_SERVED_DONE;
        static const RhMetric metrics[] = {RH_METRIC_TTFT, RH_METRIC_TPOT, RH_METRIC_TBT,
                                           RH_METRIC_E2E};
        for (guint m = 0; m < G_N_ELEMENTS(metrics); m++)
            append_seconds(out, done ? rh_served_metric_s(s, metrics[m]) : (double)NAN);
        for (int p = 0; p < RH_TTFT_LAST; p++)
            append_seconds(out, done ? rh_served_ttft_part_s(s, (RhTtftPart)p) : (double)NAN);
        g_string_append_printf(out, ",%d,%d,%" G_GINT64_FORMAT "\n", s->resent_count,
                               s->lost_tokens, s->lost_prompt_tokens);
    }
    return g_string_free(out, FALSE);
}
