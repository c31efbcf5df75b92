/* Recursive doubling and Rabenseifner (Thakur, Rabenseifner, Gropp 2005).
 *
 * Any number of members: with n = 2^K + r, the first 2r members pair up, the even ones hand their
 * buffer to the odd ones before and take the result after; the 2^K others work. */
#include "sim/collective_private.h"

static int32_t power_below(int32_t n)
{
    int32_t power = 1;
    while (2 * power <= n)
        power *= 2;
    return power;
}

/* Member that plays working rank w. */
static int32_t worker(const RhScheduleBuilder *b, int32_t w)
{
    int32_t extra = b->members - power_below(b->members);
    return w < extra ? 2 * w + 1 : w + extra;
}

/* First chunk of worker w when every member owns one: its own place, or its pair's. */
static int32_t block_of(const RhScheduleBuilder *b, int32_t w)
{
    return w + MIN(w, b->members - power_below(b->members));
}

static void fold(RhScheduleBuilder *b, bool in)
{
    int32_t extra = b->members - power_below(b->members);
    if (extra == 0)
        return;
    rh_schedule_phase(b, 1);
    for (int32_t i = 0; i < extra; i++)
        rh_schedule_flow(b, in ? 2 * i : 2 * i + 1, in ? 2 * i + 1 : 2 * i, 0,
                         b->schedule->chunks_count, in);
}

/* Everyone swaps everything it has with the member `distance` away. */
static void all_reduce_doubling(RhScheduleBuilder *b)
{
    int32_t power = power_below(b->members);
    rh_schedule_chunks(b, 1);
    fold(b, true);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t w = 0; w < power; w++)
            rh_schedule_flow(b, worker(b, w), worker(b, w ^ distance), 0, 1, true);
    }
    fold(b, false);
}

/* Dissemination: in round k member i tells member i + 2^k; nothing but latency. */
static void dissemination(RhScheduleBuilder *b)
{
    rh_schedule_chunks(b, 1);
    for (int32_t distance = 1; distance < b->members; distance *= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t i = 0; i < b->members; i++)
            rh_schedule_flow(b, i, (i + distance) % b->members, 0, 0, false);
    }
}

/* Doubling from `from` to the whole: worker w holds the `distance` chunks of its block and swaps
 * blocks. */
static void gather_doubling(RhScheduleBuilder *b, int32_t power)
{
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t w = 0; w < power; w++)
            rh_schedule_flow(b, worker(b, w), worker(b, w ^ distance), w / distance * distance,
                             distance, false);
    }
}

/* Halving: worker w sends the half of its block that its partner keeps. */
static void scatter_halving(RhScheduleBuilder *b, int32_t power)
{
    for (int32_t distance = power / 2; distance >= 1; distance /= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t w = 0; w < power; w++) {
            int32_t partner = w ^ distance;
            rh_schedule_flow(b, worker(b, w), worker(b, partner), partner / distance * distance,
                             distance, true);
        }
    }
}

/* All-gather, a chunk from each member: the even members of the pairs hand in theirs and are given
 * the others; workers swap blocks, a pair's counting double. */
static void all_gather_doubling(RhScheduleBuilder *b)
{
    int32_t power = power_below(b->members), extra = b->members - power;
    rh_schedule_chunks(b, b->members);
    if (extra > 0)
        rh_schedule_phase(b, 1);
    for (int32_t i = 0; i < extra; i++)
        rh_schedule_flow(b, 2 * i, 2 * i + 1, 2 * i, 1, false);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t w = 0; w < power; w++) {
            int32_t first = w / distance * distance, chunk = block_of(b, first);
            rh_schedule_flow(b, worker(b, w), worker(b, w ^ distance), chunk,
                             block_of(b, first + distance) - chunk, false);
        }
    }
    if (extra > 0)
        rh_schedule_phase(b, 1);
    for (int32_t i = 0; i < extra; i++) {
        if (i > 0)
            rh_schedule_flow(b, 2 * i + 1, 2 * i, 0, 2 * i, false);
        rh_schedule_flow(b, 2 * i + 1, 2 * i, 2 * i + 1, b->members - 2 * i - 1, false);
    }
}

void rh_generate_doubling(RhScheduleBuilder *b, RhOp op)
{
    if (op == RH_OP_ALL_REDUCE) {
        all_reduce_doubling(b);
    } else if (op == RH_OP_BARRIER) {
        dissemination(b);
    } else {
        all_gather_doubling(b);
    }
}

void rh_generate_rabenseifner(RhScheduleBuilder *b, RhOp op)
{
    int32_t power = power_below(b->members);
    rh_schedule_chunks(b, power);
    fold(b, true);
    scatter_halving(b, power);
    if (op == RH_OP_ALL_REDUCE)
        gather_doubling(b, power);
    fold(b, false);
}
