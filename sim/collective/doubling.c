/* Recursive doubling (Thakur, Rabenseifner, Gropp 2005).
 *
 * Any number of members: with n = 2^K + r, the first 2r members pair up, the even ones hand their
 * buffer to the odd ones before and take the result after; the 2^K others work. */
#include "sim/collective/algorithm_interface.h"

static int32_t log2_below(int32_t n)
{
    int32_t steps = 0;
    while (n >> (steps + 1))
        steps++;
    return steps;
}

int32_t rh_power_below(int32_t n)
{
    return 1 << log2_below(n);
}

int32_t rh_log2_above(int32_t n)
{
    return n > 1 ? log2_below(n - 1) + 1 : 0;
}

int32_t rh_places_inside(const RhLoads *l)
{
    bool powers = rh_power_below(l->at.members) == l->at.members &&
                  rh_power_below(l->at.per_node) == l->at.per_node;
    return powers && l->at.side_by_side == l->at.per_node ? l->at.per_node : 1;
}

int32_t rh_working_place(int32_t size, int32_t w)
{
    int32_t extra = size - rh_power_below(size);
    return w < extra ? 2 * w + 1 : w + extra;
}

void rh_fold_places(RhScheduleBuilder *b, int32_t teams, bool in)
{
    int32_t size = b->members / teams, extra = size - rh_power_below(size);
    int32_t chunks = b->schedule->chunks_count / teams;
    if (extra == 0)
        return;
    rh_schedule_round(b, 1);
    for (int32_t i = 0; i < extra; i++)
        for (int32_t j = 0; j < teams; j++) {
            int32_t even = 2 * i * teams + j, odd = even + teams;
            rh_schedule_flow(b, in ? even : odd, in ? odd : even, j * chunks, chunks, in);
        }
}

static int32_t worker(const RhScheduleBuilder *b, int32_t w)
{
    return rh_working_place(b->members, w);
}

/* First chunk of worker w when every member owns one: its own place, or its pair's. */
static int32_t block_of(const RhScheduleBuilder *b, int32_t w)
{
    return w + MIN(w, b->members - rh_power_below(b->members));
}

/* Step of an all-reduce: everyone exchanges its whole buffer with the member `distance` away. */
static void all_reduce(RhScheduleBuilder *b)
{
    int32_t power = rh_power_below(b->members);
    rh_schedule_chunks(b, 1);
    rh_fold_places(b, 1, true);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_schedule_round(b, 1);
        for (int32_t w = 0; w < power; w++)
            rh_schedule_flow(b, worker(b, w), worker(b, w ^ distance), 0, 1, true);
    }
    rh_fold_places(b, 1, false);
}

/* Dissemination barrier: in round k member i sends to member i + 2^k; only latency counts. */
static void dissemination(RhScheduleBuilder *b)
{
    rh_schedule_chunks(b, 1);
    for (int32_t distance = 1; distance < b->members; distance *= 2) {
        rh_schedule_round(b, 1);
        for (int32_t i = 0; i < b->members; i++)
            rh_schedule_flow(b, i, (i + distance) % b->members, 0, 0, false);
    }
}

/* All-gather of a chunk per member: the even members of pairs send theirs to the odd ones and get
 * the others at the end; workers exchange blocks, in which a pair counts double. */
static void all_gather(RhScheduleBuilder *b)
{
    int32_t power = rh_power_below(b->members), extra = b->members - power;
    rh_schedule_chunks(b, b->members);
    if (extra > 0)
        rh_schedule_round(b, 1);
    for (int32_t i = 0; i < extra; i++)
        rh_schedule_flow(b, 2 * i, 2 * i + 1, 2 * i, 1, false);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_schedule_round(b, 1);
        for (int32_t w = 0; w < power; w++) {
            int32_t first = w / distance * distance, chunk = block_of(b, first);
            rh_schedule_flow(b, worker(b, w), worker(b, w ^ distance), chunk,
                             block_of(b, first + distance) - chunk, false);
        }
    }
    if (extra > 0)
        rh_schedule_round(b, 1);
    for (int32_t i = 0; i < extra; i++) {
        if (i > 0)
            rh_schedule_flow(b, 2 * i + 1, 2 * i, 0, 2 * i, false);
        rh_schedule_flow(b, 2 * i + 1, 2 * i, 2 * i + 1, b->members - 2 * i - 1, false);
    }
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    if (op == RH_OP_ALL_REDUCE) {
        all_reduce(b);
    } else if (op == RH_OP_BARRIER) {
        dissemination(b);
    } else {
        all_gather(b);
    }
}

/* Cost of an all-gather. Workers have blocks of one chunk, those of a pair two; the largest are the
 * first. */
static void all_gather_cost(RhLoads *l, double chunk_bytes)
{
    int32_t n = l->at.members, extra = n - rh_power_below(n);
    if (extra)
        rh_loads_add_all(l, 1, chunk_bytes); /* even members of pairs send theirs */
    for (int32_t distance = 1; 2 * distance <= n; distance *= 2) {
        rh_loads_add_all(l, 1, (distance + MIN(distance, extra)) * chunk_bytes);
        rh_loads_reach(l, distance);
    }
    if (extra)
        /* even members of pairs receive all others */
        rh_loads_add_all(l, 1, (n - 1) * chunk_bytes);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, inside = rh_places_inside(l);
    if (op == RH_OP_BARRIER) {
        rh_loads_add_all(l, rh_log2_above(n), 0);
        return;
    }
    if (op == RH_OP_ALL_GATHER) {
        all_gather_cost(l, bytes / n);
        return;
    }
    rh_loads_add_all(l, n > rh_power_below(n) ? 2 : 0, bytes);
    rh_loads_add(l, log2_below(inside), bytes, 0, 0);
    for (int32_t distance = inside; 2 * distance <= n; distance *= 2) {
        rh_loads_add_all(l, 1, bytes);
        rh_loads_reach(l, distance);
    }
}

const RhAlgorithm rh_algorithm_doubling = {
    .name = "recursive-doubling",
    .ops = RH_BIT(ALL_REDUCE) | RH_BIT(ALL_GATHER) | RH_BIT(BARRIER),
    .nccl = RH_BIT(BARRIER),
    .mpi = RH_BIT(ALL_REDUCE) | RH_BIT(BARRIER),
    .generate = generate,
    .cost = cost,
};
