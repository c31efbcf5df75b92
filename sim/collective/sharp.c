/* All-reduce in the switches between nodes (SHARP of InfiniBand; NCCL's CollNet): reduce-scatter
 * inside the node over NVLink, then each member sends its part up to the leaf switch once and gets
 * the sum back once, then all-gather inside the node. A switch sends one sum up for all nodes below
 * it. As flows this is a step up and a step down, of half the part each, from every node to the
 * next: a ring's flows load each NIC, and each switch's way up, as the tree of sums does. */
#include "sim/collective/algorithm_interface.h"

/* Adds the step of sums, or of their copies: members of a rail exchange a chunk each, whose bytes
 * are counted from one node to the next alone. */
static void in_switches(RhScheduleBuilder *b, bool reduce)
{
    int32_t k = b->per_node, h = b->nodes;
    rh_schedule_round(b, 1);
    for (int32_t i = 0; i < b->members; i++)
        for (int32_t ahead = 1; ahead < h; ahead++) {
            int32_t j = i % k, node = i / k, to = (node + ahead) % h;
            rh_schedule_flow(b, i, to * k + j, j * h + (reduce ? to : node), 1, reduce);
            RhFlow *flow = &g_array_index(b->schedule->flows, RhFlow, b->schedule->flows->len - 1);
            flow->bytes *= ahead == 1 ? h / 2.0 : 0;
        }
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    g_assert(op == RH_OP_ALL_REDUCE);
    rh_schedule_rail_chunks(b);
    rh_schedule_inside_nodes(b, -1, true);
    if (b->nodes > 1) {
        in_switches(b, true);
        in_switches(b, false);
    }
    rh_schedule_inside_nodes(b, 0, false);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    g_assert(op == RH_OP_ALL_REDUCE);
    int32_t k = l->at.per_node;
    rh_loads_add(l, 2 * (k - 1), bytes / k, 0, 0);
    if (l->at.nodes > 1)
        rh_loads_add(l, 2, 0, bytes / (2.0 * k), k);
}

const RhAlgorithm rh_algorithm_sharp = {
    .name = "sharp",
    .protocol = RH_PROTOCOL_SHARP,
    .between_alone = true,
    .ops = RH_BIT(ALL_REDUCE),
    .nccl_between = RH_BIT(ALL_REDUCE),
    .mpi = RH_BIT(ALL_REDUCE),
    .even_nodes = true,
    .generate = generate,
    .cost = cost,
};
