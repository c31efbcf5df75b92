#include "strategies/train/open_knobs.h"

RhLayout rh_train_plain_cut(const RhLayout *cut, RhOrder order)
{
    RhLayout l = *cut;
    int32_t chunks = rh_pipeline_kind_chunks(l.schedule);
    l.vpp = chunks == RH_CHUNKS_ANY ? 2 : chunks;
    l.zero = l.shard = l.hpz = 0;
    l.outer = false;
    l.recompute = RH_RECOMPUTE_NONE;
    l.again_layers_count = l.stage_layers_count = l.offload = 0;
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
