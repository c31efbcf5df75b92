#include "report/plan/near_batches.h"

#include <string.h>

#include "report/format.h"
#include "report/json/json_common.h"
#include "strategies/search/near_batch.h"

/* Appends a batch: " 480 give 4.2 % more tok/s (75.4 s/step, tp4 pp12)", or that it gains too
 * little. */
static void append_one(GString *line, const RhNearBatch *near)
{
    g_autofree char *batch = rh_text_count(near->batch);
    if (!near->r) {
        g_string_append_printf(line, " %s samples gain less than %.0f %%", batch,
                               100 * RH_NEAR_BATCH_GAIN);
        return;
    }
    g_autofree char *step = rh_quantity_format(near->r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *title = rh_layout_title(&near->r->layout);
    g_autofree char *degrees = g_strndup(title, strcspn(title, ","));
    g_string_append_printf(line, " %s samples give %.1f %% more %s/s (%s/step, %s)", batch,
                           100 * near->gain_frac, rh_report_unit(near->r->pictures), step, degrees);
}

void rh_report_near_batches(GString *out, const RhJob *job, const GArray *near)
{
    if (!near || near->len == 0)
        return;
    g_autofree char *asked = rh_text_count(job->global_batch);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(
        line, "batch: %d GPUs do not divide %s samples well; with layouts that this rules out,",
        job->gpus, asked);
    for (guint i = 0; i < near->len; i++) {
        g_string_append(line, i ? "," : "");
        append_one(line, &g_array_index(near, RhNearBatch, i));
    }
    rh_text_wrap(out, line->str, 7, 79);
}

void rh_put_near_batches(RhJsonWriter *w, const RhPlan *plan)
{
    rh_json_begin_array(w, "near_batches");
    for (guint i = 0; plan->near_batches && i < plan->near_batches->len; i++) {
        const RhNearBatch *near = &g_array_index(plan->near_batches, RhNearBatch, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "global_batch", near->batch);
        rh_put_known(w, "gain_frac", near->gain_frac);
        if (near->r)
            rh_put_layout(w, "layout", &near->r->layout);
        rh_put_known(w, "step_time_s", near->r ? near->r->step_time_s : 0);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}
