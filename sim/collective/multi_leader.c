/* Multi-leader all-reduce with data partitioning (DPML; Bayatpour et al., SC17): every member of a
 * node leads for its part of the buffer. The node's members send each leader its part, which it
 * sums; leaders in the same place on all nodes sum theirs by halving and doubling, side by side;
 * and the node gathers the parts. */
#include "sim/collective/algorithm_interface.h"

/* Adds the phase inside nodes, pairwise: in step d member i sends the member d further on its copy
 * of that one's part, or its own finished part. */
static void add_inside_node(RhScheduleBuilder *b, bool reduce)
{
    int32_t k = b->per_node, chunks = b->schedule->chunks_count / k;
    for (int32_t d = 1; d < k; d++) {
        rh_schedule_round(b, 1);
        for (int32_t node = 0; node < b->nodes; node++)
            for (int32_t i = 0; i < k; i++) {
                int32_t to = (i + d) % k;
                rh_schedule_flow(b, node * k + i, node * k + to, (reduce ? to : i) * chunks, chunks,
                                 reduce);
            }
    }
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    g_assert(op == RH_OP_ALL_REDUCE);
    rh_schedule_chunks(b, b->per_node * rh_power_below(b->nodes));
    add_inside_node(b, true);
    rh_halve_and_double(b, b->per_node);
    add_inside_node(b, false);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t k = l->at.per_node, h = l->at.nodes, power = rh_power_below(h);
    double part = bytes / k;
    g_assert(op == RH_OP_ALL_REDUCE);
    rh_loads_add(l, 2 * (k - 1), part, 0, 0);
    rh_loads_add(l, h > power ? 2 : 0, 0, part, k);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_loads_add(l, 2, 0, part / power * distance, k);
        rh_loads_reach(l, distance * k);
    }
}

const RhAlgorithm rh_algorithm_multi_leader = {
    .name = "multi-leader",
    .ops = RH_BIT(ALL_REDUCE),
    .mpi = RH_BIT(ALL_REDUCE),
    .even_nodes = true,
    .generate = generate,
    .cost = cost,
};
