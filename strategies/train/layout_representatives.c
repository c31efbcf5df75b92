#include "strategies/train/layout_representatives.h"

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

const RhKnob *const *rh_train_host_knobs(void)
{
    static const RhKnob *const knobs[] = {RH_KNOB_OF(states), RH_KNOB_OF(weights), NULL};
    return knobs;
}
