#include "strategies/search/near_batch.h"

#include "base/serialize.h"
#include "sim/engine/workers/process_pool.h"

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

/* The batches that are planned; each a search of its own, with what the plan beside them learned. */
typedef struct {
    const RhProblem *c;
    RhPlanOptions options;
    const RhRehearsal *best;
    RhNearBatch near[2];
    bool planned[2];
    int32_t count;
} Near;

static RhProblem problem_of(const Near *n, int32_t i)
{
    RhProblem near = *n->c;
    near.job.global_batch = n->near[i].batch;
    return near;
}

/* Plans a batch: finds the best of the layouts that the batch asked for rules out, unless its step is longer than the
 * best's by at least the factor by which the batch is larger: then it gains nothing. Returns false if it cannot be
 * planned, or not in the time. */
static bool plan_batch(const Near *n, const RhPlanOptions *options, int32_t i, RhNearBatch *found)
{
    RhProblem near = problem_of(n, i);
    RhPlanOptions own = *options;
    double larger = (double)near.job.global_batch / (double)n->c->job.global_batch;
    own.top = 1;
    own.best_alone = true;
    own.unlike = n->c;
    own.outside = false;
    own.seen = NULL;
    own.worth_s = n->best->step_time_s * larger / (1 + RH_NEAR_BATCH_GAIN);
    g_autoptr(RhPlan) plan = rh_plan(&near, &own, NULL);
    if (!plan || plan->timed_out || plan->lost_may_win)
        return false;
    const RhRehearsal *r = plan->entries->len > 0 ? g_ptr_array_index(plan->entries, 0) : NULL;
    double gain = r ? r->tokens_per_s_per_gpu / n->best->tokens_per_s_per_gpu - 1 : 0;
    *found = (RhNearBatch){.batch = near.job.global_batch};
    if (gain >= RH_NEAR_BATCH_GAIN && r->events_count > 0) {
        found->gain_frac = gain;
        found->r = g_ptr_array_steal_index(plan->entries, 0);
    }
    return true;
}

/* --- each in a process of its own --- */

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Near *n = user;
    RhPlanOptions own = n->options;
    GByteArray *out = g_byte_array_new();
    RhNearBatch found = {0};
    (void)error;
    own.jobs = (own.jobs + 1) / 2;
    own.progress = NULL; /* the calling process reports */
    bool planned = plan_batch(n, &own, item, &found);
    rh_pack(out, &planned, sizeof planned);
    rh_pack(out, &found, sizeof found);
    if (found.r)
        rh_rehearsal_pack(out, found.r);
    return out;
}

static void take_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Near *n = user;
    RhNearBatch found = {0};
    if (error)
        return;
    RhUnpack in = {bytes->data, bytes->data + bytes->len, true};
    RhProblem near = problem_of(n, item);
    rh_unpack(&in, &n->planned[item], sizeof n->planned[item]);
    rh_unpack(&in, &found, sizeof found);
    found.r = found.r ? rh_rehearsal_unpack(&in, &near) : NULL;
    n->planned[item] = n->planned[item] && in.whole;
    n->near[item] = found;
}

static void report(void *user)
{
    const Near *n = user;
    if (n->options.progress)
        n->options.progress("planning other batches", n->planned[0] + n->planned[1], n->count,
                            n->best->step_time_s, n->options.user);
}

static void plan_batches(Near *n)
{
    if (n->count == 2 && n->options.jobs > 1) {
        rh_process_pool_run(&(RhProcessPool){.count = n->count,
                                             .jobs = n->count,
                                             .perform = perform,
                                             .answer = take_answer,
                                             .waiting = report,
                                             .of_ranks = true,
                                             .user = n});
        return;
    }
    for (int32_t i = 0; i < n->count; i++)
        n->planned[i] = plan_batch(n, &n->options, i, &n->near[i]);
}

GArray *rh_near_batches_beside(const RhProblem *c, const RhPlanOptions *options,
                               const RhRehearsal *best)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhNearBatch));
    Near n = {.c = c, .options = *options, .best = best};
    int64_t batches[2] = {0, 0};
    g_array_set_clear_func(out, clear);
    n.options.jobs = rh_plan_jobs(options);
    if (best)
        rh_near_batches(c->job.global_batch, c->job.gpus, &batches[0], &batches[1]);
    for (int i = 0; i < 2; i++)
        if (batches[i] > 0)
            n.near[n.count++].batch = batches[i];
    plan_batches(&n);
    for (int32_t i = 0; i < n.count; i++)
        if (n.planned[i])
            g_array_append_val(out, n.near[i]);
    return out;
}

GArray *rh_near_batches_plan(const RhProblem *c, const RhPlanOptions *options, const RhPlan *plan)
{
    bool known = plan->entries->len > 0 && !plan->unsafe && !plan->timed_out;
    return rh_near_batches_beside(c, options, known ? g_ptr_array_index(plan->entries, 0) : NULL);
}
