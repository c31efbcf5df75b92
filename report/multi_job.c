#include "report/multi_job.h"

#include <math.h>

#include "base/garray_access.h"
#include "base/text/text_table.h"
#include "report/format.h"
#include "report/json/json_common.h"
#include "strategies/serve/results/service_metrics.h"

#define LINKS_MAX 8    /* in text */
#define TERMS_MAX 3    /* of a job that became longer */
#define GREW_FRAC 1e-3 /* of the step: smaller growth is not shown */

char *rh_report_nodes(const int32_t *nodes, int32_t count)
{
    GString *out = g_string_new(NULL);
    for (int32_t i = 0; i < count;) {
        int32_t first = nodes[i], length = 1;
        while (i + length < count && nodes[i + length] == first + length)
            length++;
        g_string_append_printf(out, "%s%d", i ? "," : "", first);
        if (length > 1)
            g_string_append_printf(out, "-%d", first + length - 1);
        i += length;
    }
    return g_string_free(out, FALSE);
}

/* Relative slowdown; rounding of the clock counts as none. */
static double slowdown_frac(const RhColocatedJobAnswer *a)
{
    double frac = a->beside->step_time_s / a->alone->step_time_s - 1;
    return fabs(frac) < 1e-9 ? 0 : frac;
}

static void append_jobs(GString *out, const RhColocatedJob *jobs, const RhColocatedJobs *n)
{
    g_autoptr(RhTable) table = rh_table_new("<<>>>>>>");
    rh_table_rowf(table, "job|nodes|start|step alone|beside|cost|worst|steps");
    for (uint32_t i = 0; i < n->jobs->len; i++) {
        const RhColocatedJobAnswer *a = RH_AT(n->jobs, RhColocatedJobAnswer, i);
        g_autofree char *nodes = rh_report_nodes(jobs[i].nodes, jobs[i].nodes_count);
        g_autofree char *start = rh_quantity_format(jobs[i].t_start_s, RH_QUANTITY_S, 3);
        g_autofree char *alone = rh_quantity_format(a->alone->step_time_s, RH_QUANTITY_S, 4);
        g_autofree char *beside = rh_quantity_format(a->beside->step_time_s, RH_QUANTITY_S, 4);
        g_autofree char *worst = rh_quantity_format(a->worst_step_s, RH_QUANTITY_S, 4);
        rh_table_rowf(table, "%s|%s|%s|%s|%s|%+.1f %%|%s|%d of %d", jobs[i].name, nodes, start,
                      alone, beside, 100 * slowdown_frac(a), worst, jobs[i].steps, a->performed);
    }
    rh_table_append(table, out, "");
}

/* Appends the terms of the step that grow beside the others: "data parallel +12 ms, ...". */
static void append_growth(GString *out, const RhColocatedJob *job, const RhColocatedJobAnswer *a)
{
    if (!a->alone->costs || !a->beside->costs || slowdown_frac(a) < GREW_FRAC)
        return;
    g_autoptr(GArray) pairs = rh_report_pairs(a->alone->costs, a->beside->costs);
    g_autoptr(GString) line = g_string_new(NULL);
    int told = 0;
    for (uint32_t i = 0; i < pairs->len && told < TERMS_MAX; i++) {
        const RhTermPair *pair = RH_AT(pairs, RhTermPair, i);
        double grew_s = pair->b_s - pair->a_s;
        if (grew_s < GREW_FRAC * a->alone->step_time_s)
            continue;
        g_autofree char *by = rh_quantity_format(grew_s, RH_QUANTITY_S, 3);
        g_string_append_printf(line, "%s%s +%s", told++ ? ", " : "", pair->name, by);
    }
    if (told == 0)
        return;
    g_autofree char *text =
        g_strdup_printf("what grew in a mean GPU's step of %s: %s", job->name, line->str);
    rh_text_wrap(out, text, 2, 79);
}

/* Name of a job; the service is the last. */
static const char *name_of(const RhMultiJobInputs *q, const RhColocatedJobs *n, uint32_t job)
{
    return job < n->jobs->len ? q->jobs[job].name : q->service->background->name;
}

static void append_links(GString *out, const RhMultiJobInputs *q, const RhColocatedJobs *n)
{
    if (n->links->len == 0) {
        g_string_append(out, "they met on no link\n");
        return;
    }
    g_string_append(out, "links they met on, with what each sent over one of them\n");
    for (uint32_t i = 0; i < MIN(n->links->len, LINKS_MAX); i++) {
        const RhSessionLink *link = RH_AT(n->links, RhSessionLink, i);
        g_autofree char *rate = rh_quantity_format(link->bytes_per_s, RH_QUANTITY_BYTES_PER_S, 3);
        g_autoptr(GString) line = g_string_new(link->name);
        if (link->alike > 1)
            g_string_append_printf(line, " and %d alike", link->alike - 1);
        g_string_append_printf(line, ", %s: met %" G_GINT64_FORMAT " times", rate, link->met);
        for (uint32_t j = 0; j < n->jobs->len + (q->service != NULL); j++) {
            g_autofree char *bytes = rh_quantity_format(link->bytes[j], RH_QUANTITY_BYTES, 3);
            if (link->bytes[j] > 0)
                g_string_append_printf(line, ", %s %s", name_of(q, n, j), bytes);
        }
        g_string_append(out, "  ");
        rh_text_wrap(out, line->str, 4, 77);
    }
    if (n->links->len > LINKS_MAX)
        g_string_append_printf(out, "  and %u more: -o FILE.json has them\n",
                               n->links->len - LINKS_MAX);
}

static void add_change(RhTable *table, const char *what, const RhServedSpread *alone,
                       const RhServedSpread *beside)
{
    const RhEstimate *pairs[][2] = {{&alone->mean, &beside->mean}, {&alone->p99, &beside->p99}};
    g_autoptr(GString) line = g_string_new(what);
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        double a = pairs[i][0]->value, b = pairs[i][1]->value;
        if (!isfinite(a) || !isfinite(b)) {
            g_string_append(line, "|-|-|-");
            continue;
        }
        g_autofree char *one = rh_quantity_format(a, RH_QUANTITY_S, 4),
                        *two = rh_quantity_format(b, RH_QUANTITY_S, 4);
        double percent = a > 0 ? 100 * (b / a - 1) : 0;
        g_string_append_printf(line, "|%s|%s|%+.1f %%", one, two,
                               fabs(percent) < 0.05 ? 0 : percent);
    }
    rh_table_rowf(table, "%s", line->str);
}

/* Appends the jobs' effect on the service. */
static void append_service(GString *out, const RhMultiJobInputs *q, const RhColocatedJobs *n)
{
    const RhBackgroundService *g = q->service->background;
    RhSlos none = {0};
    RhServiceMetrics alone = rh_service_metrics(n->service_alone, &none),
                     beside = rh_service_metrics(n->service_beside, &none);
    g_autofree char *nodes = rh_report_nodes(g->nodes, g->nodes_count);
    g_autofree char *start = rh_quantity_format(g->t_start_s, RH_QUANTITY_S, 3);
    g_autofree char *span = rh_quantity_format(n->service_beside->duration_s, RH_QUANTITY_S, 3);
    g_autofree char *head = g_strdup_printf(
        "%s: %s %s on nodes %s from %s on, %s, %s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
        " requests done over %s",
        g->name, q->service->workload, q->service->deployment, nodes, start, q->service->requests,
        q->service->arrivals, beside.completed_count, beside.requests_count, span);
    rh_text_wrap(out, head, 2, 79);
    g_string_append_c(out, '\n');
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>");
    rh_table_rowf(table, "|mean alone|beside|cost|p99 alone|beside|cost");
    for (int m = 0; m < RH_METRIC_LAST; m++) {
        add_change(table, rh_metric_about((RhMetric)m), &alone.metrics[m], &beside.metrics[m]);
        if (m == RH_METRIC_TTFT)
            add_change(table, "  transfer", &alone.ttft_parts[RH_TTFT_TRANSFER],
                       &beside.ttft_parts[RH_TTFT_TRANSFER]);
    }
    rh_table_append(table, out, "");
    g_string_append_c(out, '\n');
}

char *rh_report_multi_job_text(const RhMultiJobInputs *q, const RhColocatedJobs *n)
{
    GString *out = g_string_new(NULL);
    const RhColocatedJobAnswer *own = RH_AT(n->jobs, RhColocatedJobAnswer, 0);
    g_autofree char *beside = rh_quantity_format(own->beside->step_time_s, RH_QUANTITY_S, 4);
    g_autofree char *alone = rh_quantity_format(own->alone->step_time_s, RH_QUANTITY_S, 4);
    g_autofree char *whole = rh_quantity_format(n->t_end_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "%s/step beside the others, %s alone (%+.1f %%)\n\n", beside, alone,
                           100 * slowdown_frac(own));
    append_jobs(out, q->jobs, n);
    g_string_append_c(out, '\n');
    if (q->service)
        append_service(out, q, n);
    append_links(out, q, n);
    g_string_append_c(out, '\n');
    for (uint32_t i = 0; i < n->jobs->len; i++)
        append_growth(out, &q->jobs[i], RH_AT(n->jobs, RhColocatedJobAnswer, i));
    g_autofree char *what = g_strdup_printf(
        "performed: %s, until the last job had done its steps%s; the others went on meanwhile, and "
        "count those asked for. Worst is the longest of a job's steps that count.",
        whole, q->service ? " and the service its requests" : "");
    rh_text_wrap(out, what, 2, 79);
    if (own->beside->approximate) {
        g_autofree char *why = g_strdup_printf("approximate: %s", own->beside->approximate_why);
        rh_text_wrap(out, why, 13, 79);
    }
    rh_report_sources(out, q->q);
    return g_string_free(out, FALSE);
}

/* --- JSON --- */

static void put_terms(RhJsonWriter *w, const RhColocatedJobAnswer *a)
{
    rh_json_begin_array(w, "terms");
    g_autoptr(GArray) pairs = a->alone->costs && a->beside->costs
                                  ? rh_report_pairs(a->alone->costs, a->beside->costs)
                                  : g_array_new(FALSE, FALSE, sizeof(RhTermPair));
    for (uint32_t i = 0; i < pairs->len; i++) {
        const RhTermPair *pair = RH_AT(pairs, RhTermPair, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", pair->name);
        rh_json_put_number(w, "alone_s", pair->a_s);
        rh_json_put_number(w, "beside_s", pair->b_s);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_job(RhJsonWriter *w, const RhColocatedJob *job, const RhColocatedJobAnswer *a)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "name", job->name);
    rh_json_put_string(w, "workload", job->c->model->name);
    rh_put_layout(w, "layout", &job->layout);
    rh_json_begin_array(w, "nodes");
    for (int32_t i = 0; i < job->nodes_count; i++)
        rh_json_put_int(w, NULL, job->nodes[i]);
    rh_json_end_array(w);
    rh_json_put_int(w, "gpus_count", job->c->job.gpus);
    rh_json_put_int(w, "global_batch", job->c->job.global_batch);
    rh_json_put_int(w, "sequence_tokens", job->c->job.sequence);
    rh_json_put_number(w, "start_s", job->t_start_s);
    rh_json_put_int(w, "steps_count", job->steps);
    rh_json_put_int(w, "steps_performed_count", a->performed);
    rh_json_put_number(w, "alone_step_time_s", a->alone->step_time_s);
    rh_json_put_number(w, "step_time_s", a->beside->step_time_s);
    rh_json_put_number(w, "worst_step_time_s", a->worst_step_s);
    rh_json_put_number(w, "slowdown_frac", slowdown_frac(a));
    rh_json_put_string(w, "approximate",
                       a->beside->approximate ? a->beside->approximate_why : NULL);
    put_terms(w, a);
    rh_json_end_object(w);
}

void rh_put_session_link(RhJsonWriter *w, const RhSessionLink *link, uint32_t jobs)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "name", link->name);
    rh_json_put_int(w, "alike_count", link->alike);
    rh_json_put_number(w, "bandwidth_bytes_per_s", link->bytes_per_s);
    rh_json_put_int(w, "met_count", link->met);
    rh_json_begin_array(w, "bytes");
    for (uint32_t j = 0; j < jobs; j++)
        rh_json_put_number(w, NULL, link->bytes[j]);
    rh_json_end_array(w);
    rh_json_end_object(w);
}

static void put_service(RhJsonWriter *w, const RhMultiJobServiceAnswer *s, const RhColocatedJobs *n)
{
    if (!s) {
        rh_json_put_null(w, "service");
        return;
    }
    RhSlos none = {0};
    RhServiceMetrics alone = rh_service_metrics(n->service_alone, &none),
                     beside = rh_service_metrics(n->service_beside, &none);
    rh_json_begin_object(w, "service");
    rh_json_put_string(w, "name", s->background->name);
    rh_json_put_string(w, "workload", s->background->serving.model->name);
    rh_json_put_string(w, "deployment", s->deployment);
    rh_json_put_string(w, "requests", s->requests);
    rh_json_put_string(w, "arrivals", s->arrivals);
    rh_json_begin_array(w, "nodes");
    for (int32_t i = 0; i < s->background->nodes_count; i++)
        rh_json_put_int(w, NULL, s->background->nodes[i]);
    rh_json_end_array(w);
    rh_json_put_int(w, "gpus_count", rh_deployment_gpus(&s->background->deployment));
    rh_json_put_number(w, "start_s", s->background->t_start_s);
    rh_json_begin_object(w, "alone");
    rh_put_outcome(w, &alone, &none);
    rh_json_end_object(w);
    rh_json_begin_object(w, "beside");
    rh_put_outcome(w, &beside, &none);
    rh_json_end_object(w);
    rh_json_end_object(w);
}

char *rh_report_multi_job_json(const RhMultiJobInputs *q, const RhColocatedJobs *n)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.beside/1", q->q);
    rh_json_put_number(w, "duration_s", n->t_end_s);
    rh_json_begin_array(w, "jobs");
    for (uint32_t i = 0; i < n->jobs->len; i++)
        put_job(w, &q->jobs[i], RH_AT(n->jobs, RhColocatedJobAnswer, i));
    rh_json_end_array(w);
    put_service(w, q->service, n);
    rh_json_begin_array(w, "links");
    for (uint32_t i = 0; i < n->links->len; i++)
        rh_put_session_link(w, RH_AT(n->links, RhSessionLink, i),
                            n->jobs->len + (q->service != NULL));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
