#include "validate/suites/performed_vs_rehearsed.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

#include "base/json/json.h"
#include "sim/timeline/timeline_file.h"

bool rh_performed_load(const char *path, RhPerformedResult *out, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc);
    double least_s = HUGE_VAL, most_s = 0;
    RhPerformedResult r = {.step_time_s = rh_json_number_or(doc, root, "step_time_s", 0, 1e9, 0)};
    const RhJsonNode *steps = rh_json_array(doc, root, "steps_s");
    for (const RhJsonNode *n = steps ? rh_json_first(steps) : NULL; n; n = rh_json_next(n)) {
        double step_s = rh_json_node_number(doc, n, 0, 1e9);
        least_s = fmin(least_s, step_s);
        most_s = fmax(most_s, step_s);
        r.runs_count++;
    }
    if (r.step_time_s > 0)
        r.spread_frac = (most_s - least_s) / r.step_time_s;
    r.repeated_count = (int32_t)rh_json_int_or(doc, root, "repeated_count", 0, 1 << 20, 0);
    r.stolen_frac = rh_json_number_or(doc, root, "stolen_frac", 0, 1e9, 0);
    r.checked_count = rh_json_int(doc, root, "checked_count", 0, INT64_C(1) << 52);
    r.wrong_count = rh_json_int(doc, root, "wrong_count", 0, INT64_C(1) << 52);
    const char *library = rh_json_string(doc, root, "mpi");
    rh_json_consume_all(doc, root);
    if (!rh_json_finish(doc, error))
        return false;
    r.library = g_strdup(library);
    *out = r;
    return true;
}

void rh_performed_result_clear(RhPerformedResult *result)
{
    g_clear_pointer(&result->library, g_free);
}

static gpointer key_of(int32_t gpu, int32_t task)
{
    return GSIZE_TO_POINTER((gsize)(uint32_t)gpu << 32 | (uint32_t)task);
}

bool rh_performed_start_error(const char *trace_path, const RhProgram *p, const RhRun *rehearsal,
                              double step_time_s, double *median_frac, GError **error)
{
    g_autoptr(GArray) events = rh_timeline_read(trace_path, error);
    if (!events)
        return false;
    g_autoptr(GHashTable) of_task = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < rehearsal->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(rehearsal->timeline, RhTaskInterval, i);
        int32_t rank = g_array_index(rehearsal->performers, RhPerformer, span->performer).rank;
        g_hash_table_insert(of_task, key_of(rh_program_gpu(p, rank), span->task), (void *)span);
    }
    g_autofree double *off = g_new(double, events->len + 1);
    size_t count = 0;
    for (guint i = 0; i < events->len; i++) {
        const RhTimelineEvent *e = &g_array_index(events, RhTimelineEvent, i);
        const RhTaskInterval *span = g_hash_table_lookup(of_task, key_of(e->gpu, e->task));
        if (span)
            off[count++] = fabs(span->t_start_s - e->t_start_s) / step_time_s;
    }
    gsl_sort(off, 1, count);
    *median_frac = count ? gsl_stats_median_from_sorted_data(off, 1, count) : -1;
    return true;
}
