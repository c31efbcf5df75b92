/* All-reduce in the switch (NVLink SHARP, NCCL's NVLS): for its part a member asks the switch for
 * the sum of all members', which every one of them sends up, including itself; and sends one copy
 * up, which the switch multicasts to all. So a member sends M and receives M / n for the one, sends
 * M / n and receives M for the other; an all-reduce does both at once, (1 + 1/n) M each way. As
 * flows between members these are two steps, everyone to everyone, with bytes such that a member's
 * port carries the above. */
#include "sim/collective/algorithm_interface.h"

/* Returns the fraction of the buffer that crosses a member's port in each direction. */
static double port_frac(RhOp op, int32_t n)
{
    return op == RH_OP_ALL_REDUCE ? 1 + 1.0 / n : 1;
}

static int32_t steps_count(RhOp op)
{
    return op == RH_OP_ALL_REDUCE ? 2 : 1;
}

static void everyone(RhScheduleBuilder *b, bool reduce)
{
    int32_t n = b->members;
    rh_schedule_round(b, 1);
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 1; k < n; k++)
            rh_schedule_flow(b, i, (i + k) % n, reduce ? (i + k) % n : i, 1, reduce);
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    int32_t n = b->members;
    rh_schedule_chunks(b, n);
    b->chunk_bytes = b->schedule->bytes * port_frac(op, n) / (n - 1) / steps_count(op);
    if (op != RH_OP_ALL_GATHER)
        everyone(b, true);
    if (op != RH_OP_REDUCE_SCATTER)
        everyone(b, false);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    rh_loads_add_all(l, steps_count(op), bytes * port_frac(op, l->at.members) / steps_count(op));
    rh_loads_reach(l, l->at.members);
}

#define SUMS (RH_BIT(ALL_REDUCE) | RH_BIT(REDUCE_SCATTER) | RH_BIT(ALL_GATHER))

const RhAlgorithm rh_algorithm_nvls = {
    .name = "nvls",
    .protocol = RH_PROTOCOL_NVLS,
    .plain = RH_ALGO_RING,
    .ops = SUMS,
    .nccl = SUMS,
    .generate = generate,
    .cost = cost,
};
