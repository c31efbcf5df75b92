/* Direct: in step k member i sends to member i+k what that one needs (pairwise exchange; Thakur et
 * al. 2005). */
#include "sim/collective/algorithm.h"

static int32_t chunk_for(const RhScheduleBuilder *b, RhOp op, int32_t src, int32_t dst)
{
    if (op == RH_OP_ALL_TO_ALL)
        return src * b->members + dst;
    return op == RH_OP_REDUCE_SCATTER ? dst : src;
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    int32_t n = b->members;
    rh_schedule_chunks(b, op == RH_OP_BROADCAST ? 1 : op == RH_OP_ALL_TO_ALL ? n * n : n);
    if (op == RH_OP_ALL_TO_ALL)
        b->chunk_bytes = b->schedule->bytes / n;
    for (int32_t k = 1; k < n; k++) {
        rh_schedule_phase(b, 1);
        if (op == RH_OP_BROADCAST) {
            rh_schedule_flow(b, 0, k, 0, 1, false);
            continue;
        }
        for (int32_t i = 0; i < n; i++) {
            int32_t to = (i + k) % n;
            rh_schedule_flow(b, i, to, chunk_for(b, op, i, to), 1, op == RH_OP_REDUCE_SCATTER);
        }
    }
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members;
    rh_loads_add_all(l, n - 1, op == RH_OP_BROADCAST ? bytes : bytes / n);
    rh_loads_reach(l, n);
}

const RhAlgorithm rh_algorithm_direct = {
    .name = "direct",
    .ops = RH_BIT(REDUCE_SCATTER) | RH_BIT(ALL_GATHER) | RH_BIT(BROADCAST) | RH_BIT(ALL_TO_ALL),
    .nccl = RH_BIT(ALL_TO_ALL),
    .mpi = RH_BIT(ALL_TO_ALL),
    .generate = generate,
    .cost = cost,
};
