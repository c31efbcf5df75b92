#include "strategies/search/explain/what_if.h"

#include <string.h>

#include "strategies/train/train.h"

void rh_what_if_clear(RhWhatIfAnswer *answer)
{
    rh_rehearsal_free(answer->other);
    rh_rehearsal_free(answer->winner);
    g_clear_pointer(&answer->near_batches, g_array_unref);
    g_free(answer->illegal);
}

/* Replaces the changed layout by the best of the changed problem, if any fits. */
static bool plan_anew(const RhWhatIf *q, RhWhatIfAnswer *out, GError **error)
{
    g_clear_pointer(&out->other, rh_rehearsal_free);
    if (!rh_replan(q->after, q->recorded, q->full, &out->other, error))
        return false;
    out->replanned = true;
    if (out->other)
        out->layout = out->other->layout;
    return true;
}

/* Rehearses the changed layout, and finds the best of the changed problem. */
static bool find_changed(const RhWhatIf *q, RhWhatIfAnswer *out, GError **error)
{
    double budget_bytes = rh_replan_memory_budget(q->recorded, q->after).ranked_bytes;
    out->other = rh_rehearse_settled(q->after, &out->layout, q->recorded->seed, NULL, NULL, error);
    if (!out->other)
        return false;
    out->safe = out->other->fits && out->other->memory.peak_bytes <= budget_bytes;
    if (q->full)
        return plan_anew(q, out, error);
    /* With the layout alone changed, the best is still the first of its plan. */
    return (!q->inputs_changed && q->recorded->is_plan) ||
           rh_replan(q->after, q->recorded, false, &out->winner, error);
}

/* Finds near batches that give more than the best known after the change, where fewer GPUs do not
 * divide the batch, which rules layouts out. */
static void find_near_batches(const RhWhatIf *q, RhWhatIfAnswer *out)
{
    const RhJob *before = &q->before->job, *now = &q->after->job;
    const RhRehearsal *best =
        out->winner && (!out->safe || out->winner->step_time_s < out->other->step_time_s)
            ? out->winner
            : out->other;
    if (best && best->fits &&
        (now->gpus != before->gpus || now->global_batch != before->global_batch))
        out->near_batches = rh_replan_near_batches(q->after, q->recorded, best);
}

bool rh_what_if(const RhWhatIf *q, RhWhatIfAnswer *out, GError **error)
{
    g_autoptr(GError) illegal = NULL;
    out->layout = q->layout;
    if (q->after->job.gpus != q->before->job.gpus)
        out->layout.dp = 0;
    bool legal = rh_train_settle_layout(q->after, &out->layout, &illegal);
    if (!legal && !q->inputs_changed) {
        g_propagate_error(error, g_steal_pointer(&illegal));
        return false;
    }
    if (!legal)
        out->illegal = g_strndup(illegal->message, strcspn(illegal->message, "\n"));
    bool fine = legal ? find_changed(q, out, error)
                      : rh_train_job_legal(q->after, error) && plan_anew(q, out, error);
    if (fine)
        find_near_batches(q, out);
    return fine;
}
