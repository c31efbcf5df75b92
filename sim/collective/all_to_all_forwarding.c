/* Two levels: a member sends its chunks for another node to the member in the same place there,
 * which forwards them over NVLink while the next node's are under way (DeepEP, the dispatch of
 * DeepSeek-V3, arXiv 2412.19437, section 3.2.2). A chunk for several members of a node may be sent
 * there once: tokens for several experts. Combining takes the same routes back. */
#include "sim/collective/algorithm_interface.h"

/* Bytes of the chunk, as an even or an uneven all-to-all divides them. */
static double pair_bytes(const RhScheduleBuilder *b, int32_t chunk)
{
    const RhSchedule *s = b->schedule;
    return s->chunk_bytes ? s->chunk_bytes[chunk] : s->bytes / b->members;
}

/* Adds a flow of the chunks that `owner` sends to members from `first` on; empty ones are skipped.
 */
static void add_chunks(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t owner, int32_t first,
                       int32_t count)
{
    int32_t chunk = owner * b->members + first;
    double bytes = 0;
    for (int32_t i = 0; i < count; i++)
        bytes += pair_bytes(b, chunk + i);
    b->chunk_bytes = bytes / count * (count > 1 ? b->node_frac : 1);
    if (bytes > 0 || b->schedule->bytes == 0)
        rh_schedule_flow(b, src, dst, chunk, count, false);
}

/* Adds flows from `at` to each member of its node, with the chunks of `owner` for that member. */
static void hand_out(RhScheduleBuilder *b, int32_t at, int32_t owner)
{
    int32_t k = b->per_node, first = at - at % k;
    for (int32_t i = 1; i < k; i++) {
        int32_t to = first + (at + i) % k;
        add_chunks(b, at, to, owner, to, 1);
    }
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    int32_t n = b->members, k = b->per_node, h = b->nodes;
    g_assert(op == RH_OP_ALL_TO_ALL);
    rh_schedule_pairs(b);
    for (int32_t ahead = 1; ahead < h + (k > 1); ahead++) {
        rh_schedule_round(b, 1);
        for (int32_t i = 0; i < n; i++) {
            int32_t fellow = (i + ahead * k) % n;
            if (ahead < h)
                add_chunks(b, i, fellow, i, fellow - fellow % k, k);
            /* chunks that arrived in the step before */
            hand_out(b, i, (i + n - (ahead - 1) * k) % n);
        }
    }
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, k = l->at.per_node, h = l->at.nodes;
    double pair = bytes / n, handed = (k - 1) * pair;
    g_assert(op == RH_OP_ALL_TO_ALL);
    if (h > 1) {
        rh_loads_add(l, h - 1, handed, k * pair * l->node_frac, k);
        rh_loads_reach(l, n);
    }
    if (k > 1)
        rh_loads_add(l, 1, handed, 0, 0);
}

const RhAlgorithm rh_algorithm_forwarding = {
    .name = "forwarding",
    .ops = RH_BIT(ALL_TO_ALL),
    .once = RH_BIT(ALL_TO_ALL),
    .even_nodes = true,
    .generate = generate,
    .cost = cost,
};
