/* Two levels: reduce-scatter inside the node over NVLink, one ring per rail between nodes on each
 * member's part, all-gather inside the node. */
#include "sim/collective/algorithm_interface.h"

void rh_schedule_inside_nodes(RhScheduleBuilder *b, int32_t ahead, bool reduce)
{
    int32_t k = b->per_node, h = b->nodes;
    if (k < 2)
        return;
    rh_schedule_round(b, k - 1);
    for (int32_t node = 0; node < h; node++)
        for (int32_t j = 0; j < k; j++)
            rh_schedule_flow_shifting(b, (RhFlow){.src = node * k + j,
                                                  .dst = node * k + (j + 1) % k,
                                                  .chunk_first = (j + ahead + k) % k * h,
                                                  .chunk_count = h,
                                                  .chunk_shift = -h,
                                                  .wrap_count = k * h,
                                                  .reduce = reduce});
}

static void between(RhScheduleBuilder *b, int32_t ahead, bool reduce)
{
    int32_t k = b->per_node, h = b->nodes;
    if (h < 2)
        return;
    rh_schedule_round(b, h - 1);
    for (int32_t node = 0; node < h; node++)
        for (int32_t j = 0; j < k; j++)
            rh_schedule_flow_shifting(b, (RhFlow){.src = node * k + j,
                                                  .dst = (node + 1) % h * k + j,
                                                  .chunk_first = j * h + (node + ahead + h) % h,
                                                  .chunk_count = 1,
                                                  .chunk_shift = -1,
                                                  .wrap_first = j * h,
                                                  .wrap_count = h,
                                                  .reduce = reduce});
}

void rh_schedule_rail_chunks(RhScheduleBuilder *b)
{
    int32_t k = b->per_node, h = b->nodes;
    rh_schedule_chunks(b, k * h);
    for (int32_t j = 0; j < k; j++)
        for (int32_t node = 0; node < h; node++)
            b->schedule->owner[j * h + node] = node * k + j;
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    rh_schedule_rail_chunks(b);
    if (op != RH_OP_ALL_GATHER) {
        rh_schedule_inside_nodes(b, -1, true);
        between(b, -1, true);
    }
    if (op != RH_OP_REDUCE_SCATTER) {
        between(b, 0, false);
        rh_schedule_inside_nodes(b, 0, false);
    }
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, k = l->at.per_node, h = l->at.nodes;
    int32_t passes = op == RH_OP_ALL_REDUCE ? 2 : 1;
    rh_loads_add(l, passes * (k - 1), bytes / k, 0, 0);
    rh_loads_add(l, passes * (h - 1), 0, bytes / n, k);
}

const RhAlgorithm rh_algorithm_hierarchical = {
    .name = "hierarchical",
    .ops = RH_BIT(ALL_REDUCE) | RH_BIT(REDUCE_SCATTER) | RH_BIT(ALL_GATHER),
    .even_nodes = true,
    .generate = generate,
    .cost = cost,
};
