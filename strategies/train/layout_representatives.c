#include "strategies/train/layout_representatives.h"

#include "base/error.h"
#include "strategies/train/recompute_fewest_layers.h"

RhLayout rh_train_plain_cut(const RhLayout *cut, RhOrder order)
{
    RhLayout l = *cut;
    int32_t chunks = rh_pipeline_kind_chunks(l.schedule);
    l.vpp = chunks == RH_CHUNKS_ANY ? 2 : chunks;
    l.zero = l.shard = l.hpz = 0;
    l.outer = l.qwz = false;
    l.codec = RH_CODEC_NONE;
    l.states = l.weights = RH_PLACE_DEVICE; /* copies of shares that are open would be too much */
    l.states_percent = 100;
    l.recompute = RH_RECOMPUTE_NONE;
    l.recomputed_layers_count = l.stage_layers_count = l.offload = 0;
    l.partition = RH_PARTITION_EVEN;
    l.order = order;
    return l;
}

int32_t rh_train_shared_most(const RhProblem *c, const RhLayout *layout,
                             RhLayout out[RH_TRAIN_DEGREES])
{
    int32_t count = 0;
    for (int32_t zero = RH_TRAIN_DEGREES - 1; zero >= 0; zero--) {
        RhLayout l = *layout;
        l.zero = zero;
        l.shard = l.hpz = 0;
        l.outer = false;
        if (rh_stack_shards(c->stack, zero, l.pp))
            out[count++] = l;
    }
    return count;
}

/* Checks that the product of the given degrees is not beyond any machine; products below stay far
 * inside 32 bits. */
static bool check_ranks(const RhLayout *l, GError **error)
{
    double ranks = (double)l->tp * l->pp * l->cp * MAX(l->dp, 1);
    if (ranks <= 1 << 24)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "tp%d x pp%d x cp%d x dp%d are %.0f ranks", l->tp, l->pp,
                   l->cp, MAX(l->dp, 1), ranks);
}

/* Checks the layout on a machine that fits it. `each`: factor of the batch besides the replicas. */
static bool fits_some_machine(const RhProblem *c, const RhLayout *layout, int64_t each,
                              GError **error)
{
    RhLayout l = *layout;
    RhProblem fitting = *c;
    rh_train_complete(c, &l);
    if (layout->dp == 0) {
        l.dp = MIN(l.dp, rh_train_least_replicas(&l));
        fitting.job.global_batch *= l.dp * each; /* makes the batch divisible by the replicas, which
                                                  * are not given */
    }
    if (!check_ranks(&l, error))
        return false;
    fitting.job.gpus = l.tp * l.pp * l.cp * l.dp;
    return rh_train_legal(&fitting, &l, error);
}

bool rh_train_fits_some_machine(const RhProblem *c, const RhLayout *layout, GError **error)
{
    return fits_some_machine(c, layout, 1, error);
}

bool rh_train_settle_layout(const RhProblem *c, RhLayout *layout, GError **error)
{
    RhLayout l = *layout;
    if (!check_ranks(&l, error))
        return false;
    if (l.tp == 1)
        l.sequence_parallel = false;
    /* the allowed micro-batches are reported with the replicas that this machine has */
    if (l.dp == 0 && !fits_some_machine(c, &l, l.microbatch, error))
        return false;
    rh_train_complete(c, &l);
    if (!rh_train_legal(c, &l, error))
        return false;
    *layout = rh_train_canonical(c, &l);
    rh_train_settle(c, layout);
    return true;
}

const RhKnob *const *rh_train_host_knobs(void)
{
    static const RhKnob *const knobs[] = {RH_KNOB_OF(states), RH_KNOB_OF(weights), NULL};
    return knobs;
}
