#include "strategies/search/near_batch.h"

void rh_near_batches(int64_t batch, int32_t gpus, int64_t *below, int64_t *above)
{
    double reach = RH_NEAR_BATCH_FRAC * (double)batch;
    *below = *above = 0;
    for (int64_t unit = gpus; unit >= 1; unit = unit % 2 == 0 ? unit / 2 : 0) {
        int64_t low = batch / unit * unit, high = low + unit;
        if (low == batch)
            return;
        *below = low > 0 && (double)(batch - low) <= reach ? low : 0;
        *above = (double)(high - batch) <= reach ? high : 0;
        if (*below > 0 || *above > 0)
            return;
    }
}

static void clear(gpointer data)
{
    rh_rehearsal_free(((RhNearBatch *)data)->r);
}

/* Adds a batch with the best of the layouts that the batch asked for rules out, unless its step is longer than the
 * best's by at least the factor by which the batch is larger: then it gains nothing. */
static void add_batch(GArray *out, const RhProblem *c, const RhPlanOptions *options,
                      const RhRehearsal *best, int64_t batch)
{
    if (batch <= 0)
        return;
    RhProblem near = *c;
    RhPlanOptions own = *options;
    double larger = (double)batch / (double)c->job.global_batch;
    near.job.global_batch = batch;
    own.top = 1;
    own.best_alone = true;
    own.unlike = c;
    own.outside = false;
    own.seen = NULL;
    own.worth_s = best->step_time_s * larger / (1 + RH_NEAR_BATCH_GAIN);
    g_autoptr(RhPlan) plan = rh_plan(&near, &own, NULL);
    if (!plan || plan->timed_out || plan->lost_may_win)
        return;
    RhNearBatch found = {.batch = batch};
    const RhRehearsal *r = plan->entries->len > 0 ? g_ptr_array_index(plan->entries, 0) : NULL;
    double gain = r ? r->tokens_per_s_per_gpu / best->tokens_per_s_per_gpu - 1 : 0;
    if (gain >= RH_NEAR_BATCH_GAIN && r->events_count > 0) {
        found.gain_frac = gain;
        found.r = g_ptr_array_steal_index(plan->entries, 0);
    }
    g_array_append_val(out, found);
}

GArray *rh_near_batches_beside(const RhProblem *c, const RhPlanOptions *options,
                               const RhRehearsal *best)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhNearBatch));
    g_array_set_clear_func(out, clear);
    int64_t below = 0, above = 0;
    if (best)
        rh_near_batches(c->job.global_batch, c->job.gpus, &below, &above);
    add_batch(out, c, options, best, below);
    add_batch(out, c, options, best, above);
    return out;
}

GArray *rh_near_batches_plan(const RhProblem *c, const RhPlanOptions *options, const RhPlan *plan)
{
    bool known = plan->entries->len > 0 && !plan->unsafe && !plan->timed_out;
    return rh_near_batches_beside(c, options, known ? g_ptr_array_index(plan->entries, 0) : NULL);
}
