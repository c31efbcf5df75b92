/* Formats the best deployments as JSON and CSV. */
#include <math.h>

#include "report/format.h"
#include "report/json/json_common.h"
#include "report/serve/serve.h"
#include "report/serve/serve_words.h"
#include "report/warnings.h"

void rh_put_serve_entry(RhJsonWriter *w, const RhServeEntry *e, guint rank, const RhSlos *slos)
{
    g_autofree char *text = rh_deployment_format(&e->deployment);
    g_autofree char *level = e->binding >= 0 ? rh_slo_text(&slos->list[e->binding]) : NULL;
    rh_json_begin_object(w, rank > 0 ? NULL : "plan");
    if (rank > 0)
        rh_json_put_int(w, "rank", rank);
    rh_json_put_string(w, "deployment", text);
    rh_json_put_int(w, "gpus_count", e->gpus);
    rh_json_put_number(w, "rate_max_per_s", e->rate_per_s);
    rh_put_known(w, "rate_broken_per_s", e->broken_per_s);
    rh_put_known(w, "rate_reserve_per_s", e->rate_most_per_s);
    rh_json_put_number(w, "bound_per_s", e->bound_per_s);
    if (e->part > 0)
        rh_json_put_int(w, "draws_replicas_count", e->part);
    rh_json_put_string(w, "binds", level);
    rh_json_put_bool(w, "cache_full", e->cache_full);
    rh_json_put_bool(w, "pareto", e->pareto);
    rh_json_put_number(w, "kv_peak_frac", e->kv_peak_frac);
    rh_json_put_number(w, "busy_frac", e->busy_frac);
    rh_put_outcome(w, &e->outcome, slos);
    rh_json_end_object(w);
}

void rh_put_serve_nearest(RhJsonWriter *w, const RhServePlan *plan, const RhSlos *slos)
{
    const RhServeEntry *e = &plan->nearest;
    const RhMissedLevel *u = &plan->unkept;
    bool bounded = e->bound_per_s > 0, unkept = !bounded && u->least_s > 0;
    if (plan->entries->len > 0 || (!bounded && !unkept)) {
        rh_json_put_null(w, "nearest");
        return;
    }
    int32_t level = unkept ? u->level : e->broken_per_s > 0 ? e->binding : -1;
    g_autofree char *text = rh_deployment_format(bounded ? &e->deployment : &u->deployment),
                    *binds = level >= 0 ? rh_slo_text(&slos->list[level]) : NULL;
    rh_json_begin_object(w, "nearest");
    rh_json_put_string(w, "deployment", text);
    rh_put_known(w, "bound_per_s", e->bound_per_s);
    rh_put_known(w, "rate_broken_per_s", e->broken_per_s);
    rh_json_put_string(w, "binds", binds);
    rh_put_known(w, "least_s", unkept ? u->least_s : 0);
    rh_json_end_object(w);
}

char *rh_report_serve_plan_json(const RhServeQuestion *q, const RhServePlan *plan,
                                const RhServePlanOptions *o, int32_t top)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_serve_head(w, q);
    rh_put_known(w, "rate_asked_per_s", o->rate_per_s);
    rh_json_put_int(w, "draws_count", o->drawn ? RH_SERVE_DRAWS : 0);
    rh_json_put_bool(w, "timed_out", plan->timed_out);
    rh_json_begin_object(w, "counts");
    rh_json_put_int(w, "legal", plan->legal_count);
    rh_json_put_int(w, "fit", plan->fit_count);
    rh_json_put_int(w, "simulated", plan->simulated_count);
    rh_json_put_int(w, "runs", plan->runs_count);
    rh_json_put_int(w, "larger", plan->larger_count);
    rh_json_end_object(w);
    rh_json_begin_array(w, "plans");
    for (guint i = 0; i < MIN(plan->entries->len, (guint)top); i++)
        rh_put_serve_entry(w, &g_array_index(plan->entries, RhServeEntry, i), i + 1, &o->slos);
    rh_json_end_array(w);
    if (q->day)
        rh_put_serve_day(w, q->day, &q->q->c->platform->price_usd_per_gpu_hour);
    rh_put_serve_nearest(w, plan, &o->slos);
    rh_put_served_trust(w, q->trust);
    const RhServiceMetrics *best =
        plan->entries->len > 0 ? &g_array_index(plan->entries, RhServeEntry, 0).outcome : NULL;
    g_autoptr(GPtrArray) watches = rh_report_serve_warnings(q, best, true);
    rh_put_warnings(w, watches);
    rh_put_allowance(w, rh_serve_plan_allowance(plan, o));
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- CSV --- */

static void append_cells(GString *out, const double *values, int count)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    for (int i = 0; i < count; i++)
        g_string_append_printf(
            out, ",%s",
            isfinite(values[i]) ? g_ascii_formatd(text, sizeof text, "%.9g", values[i]) : "");
}

char *rh_report_serve_plan_csv(const RhServePlan *plan)
{
    GString *out = g_string_new("rank,deployment,gpus,pareto,rate_max_per_s,bound_per_s,"
                                "tokens_per_s_per_gpu,ttft_p50_s,ttft_p99_s,tpot_p50_s,tpot_p99_s,"
                                "kv_peak_frac\n");
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        g_autofree char *text = rh_deployment_format(&e->deployment);
        const RhServedSpread *ttft = &e->outcome.metrics[RH_METRIC_TTFT],
                             *tpot = &e->outcome.metrics[RH_METRIC_TPOT];
        double values[] = {e->rate_per_s,   e->bound_per_s,  e->outcome.tokens_per_s_per_gpu,
                           ttft->p50.value, ttft->p99.value, tpot->p50.value,
                           tpot->p99.value, e->kv_peak_frac};
        g_string_append_printf(out, "%u,\"%s\",%d,%s", i + 1, text, e->gpus,
                               e->pareto ? "true" : "false");
        append_cells(out, values, G_N_ELEMENTS(values));
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}
