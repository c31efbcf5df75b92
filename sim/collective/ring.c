/* Rings: reduce-scatter in n-1 steps, all-gather in n-1 steps (Chan et al. 2007, section 4; Thakur
 * et al. 2005).
 *
 * With k members on every node, k rings run at once and leave the node by k NICs, as NCCL's
 * channels do. Ring j enters even nodes at member j and walks up, leaves at j-1, enters odd nodes
 * at j-1 and walks down, leaves at j: messages between nodes stay on one rail (all of them when the
 * number of nodes is even). */
#include "sim/collective/algorithm.h"

static int32_t rings_of(const RhScheduleBuilder *b)
{
    return b->nodes > 1 && b->per_node > 1 ? b->per_node : 1;
}

/* Member at position `at` of ring j. */
static int32_t member_at(const RhScheduleBuilder *b, int32_t rings, int32_t j, int32_t at)
{
    if (rings == 1)
        return at;
    int32_t k = b->per_node, node = at / k, step = at % k;
    int32_t local = node % 2 == 0 ? (j + step) % k : (j - 1 - step + 2 * k) % k;
    return node * k + local;
}

/* One pass round all rings: at step q, position `at` sends the chunk of position at - q + ahead. */
static void pass(RhScheduleBuilder *b, int32_t rings, int32_t ahead, bool reduce)
{
    int32_t n = b->members;
    rh_schedule_phase(b, n - 1);
    for (int32_t j = 0; j < rings; j++)
        for (int32_t at = 0; at < n; at++)
            rh_schedule_flow_shifting(b, (RhFlow){.src = member_at(b, rings, j, at),
                                                  .dst = member_at(b, rings, j, (at + 1) % n),
                                                  .chunk_first = j * n + (at + ahead + n) % n,
                                                  .chunk_count = 1,
                                                  .chunk_shift = -1,
                                                  .wrap_first = j * n,
                                                  .wrap_count = n,
                                                  .reduce = reduce});
}

static void own(RhScheduleBuilder *b, int32_t rings)
{
    for (int32_t j = 0; j < rings; j++)
        for (int32_t at = 0; at < b->members; at++)
            b->schedule->owner[j * b->members + at] = member_at(b, rings, j, at);
}

#define CHAIN_CHUNK_BYTES 524288.0 /* NCCL's default buffer of 4 MiB per channel in its 8 slots */
#define CHAIN_CHUNKS_MAX  16       /* assumed: bounds the length of a schedule */

static int32_t chain_chunks(double bytes)
{
    return (int32_t)CLAMP(bytes / 2 / CHAIN_CHUNK_BYTES, 1.0, (double)CHAIN_CHUNKS_MAX);
}

/* Broadcast: the buffer in chunks down the chain from member 0, one step behind another. */
static void chain(RhScheduleBuilder *b)
{
    int32_t n = b->members, chunks = chain_chunks(b->schedule->bytes);
    rh_schedule_chunks(b, chunks);
    for (int32_t step = 0; step < n - 2 + chunks; step++) {
        rh_schedule_phase(b, 1);
        for (int32_t i = 0; i < n - 1; i++)
            if (step - i >= 0 && step - i < chunks)
                rh_schedule_flow(b, i, i + 1, step - i, 1, false);
    }
}

/* Shift: one step, everyone's buffer to the next member (the exchange of ring attention; Liu et al.
 * 2023). */
static void shift(RhScheduleBuilder *b)
{
    int32_t n = b->members;
    rh_schedule_chunks(b, n);
    b->chunk_bytes = b->schedule->bytes;
    rh_schedule_phase(b, 1);
    for (int32_t i = 0; i < n; i++)
        rh_schedule_flow(b, i, (i + 1) % n, i, 1, false);
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    int32_t rings = rings_of(b);
    if (op == RH_OP_BROADCAST) {
        chain(b);
        return;
    }
    if (op == RH_OP_SHIFT) {
        shift(b);
        return;
    }
    rh_schedule_chunks(b, rings * b->members);
    own(b, rings);
    if (op != RH_OP_ALL_GATHER)
        pass(b, rings, -1, true);
    if (op != RH_OP_REDUCE_SCATTER)
        pass(b, rings, 0, false);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, k = l->at.per_node, chunks = chain_chunks(bytes);
    if (op == RH_OP_BROADCAST)
        rh_loads_add(l, n - 2 + chunks, bytes / chunks, bytes / chunks, 1);
    else if (op == RH_OP_SHIFT)
        rh_loads_add(l, 1, bytes, bytes, 1);
    else
        rh_loads_add(l, (op == RH_OP_ALL_REDUCE ? 2 : 1) * (n - 1), bytes / n, bytes / n / k, k);
}

#define RINGS (RH_BIT(ALL_REDUCE) | RH_BIT(REDUCE_SCATTER) | RH_BIT(ALL_GATHER))

const RhAlgorithm rh_algorithm_ring = {
    .name = "ring",
    .ops = RINGS | RH_BIT(BROADCAST) | RH_BIT(SHIFT),
    .pipelined = RH_BIT(BROADCAST),
    .nccl = RINGS | RH_BIT(BROADCAST) | RH_BIT(SHIFT),
    .mpi = RINGS | RH_BIT(BROADCAST) | RH_BIT(SHIFT),
    .generate = generate,
    .cost = cost,
};
