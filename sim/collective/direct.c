/* Direct algorithms: in step k member i sends member i+k its part (pairwise exchange; Thakur et al.
 * 2005). */
#include "sim/collective/algorithm_interface.h"

void rh_schedule_pairs(RhScheduleBuilder *b)
{
    int32_t n = b->members;
    RhSchedule *s = b->schedule;
    rh_schedule_chunks(b, n * n);
    b->chunk_bytes = s->bytes / n;
    if (!b->shares)
        return;
    s->chunk_bytes = g_new(double, (gsize)n *(gsize)n);
    for (int32_t c = 0; c < n * n; c++)
        s->chunk_bytes[c] = s->bytes * b->shares[c % b->shares_count];
}

/* Adds a flow from one member to another, unless it is empty. */
static void send_pair(RhScheduleBuilder *b, int32_t src, int32_t dst)
{
    int32_t chunk = src * b->members + dst;
    const double *uneven = b->schedule->chunk_bytes;
    if (uneven)
        b->chunk_bytes = uneven[chunk];
    if (!uneven || uneven[chunk] > 0)
        rh_schedule_flow(b, src, dst, chunk, 1, false);
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    int32_t n = b->members;
    if (op == RH_OP_ALL_TO_ALL)
        rh_schedule_pairs(b);
    else
        rh_schedule_chunks(b, op == RH_OP_BROADCAST ? 1 : n);
    for (int32_t k = 1; k < n; k++) {
        rh_schedule_round(b, 1);
        if (op == RH_OP_BROADCAST) {
            rh_schedule_flow(b, 0, k, 0, 1, false);
            continue;
        }
        for (int32_t i = 0; i < n; i++) {
            int32_t to = (i + k) % n;
            if (op == RH_OP_ALL_TO_ALL)
                send_pair(b, i, to);
            else
                rh_schedule_flow(b, i, to, op == RH_OP_REDUCE_SCATTER ? to : i, 1,
                                 op == RH_OP_REDUCE_SCATTER);
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
    .once = RH_BIT(ALL_TO_ALL),
    .generate = generate,
    .cost = cost,
};
