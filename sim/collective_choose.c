/* Which algorithm a library takes: as NCCL does, rings for scatter and gather, and ring or double
 * binary tree for an all-reduce between nodes. */
#include <math.h>

#include "sim/collective_private.h"

/* How the group meets the network. */
typedef struct {
    int32_t nodes;
    int32_t here; /* members on the first one's node */
    double alpha_s;
    double nvlink_bytes_per_s, nic_bytes_per_s;
} Meeting;

static Meeting meeting_of(const RhPlatform *p, int32_t members, const int32_t *node_of)
{
    Meeting m = {.nvlink_bytes_per_s =
                     p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value,
                 .nic_bytes_per_s = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value};
    for (int32_t i = 0; i < members; i++)
        m.here += !node_of || node_of[i] == node_of[0];
    m.nodes = (members + m.here - 1) / MAX(m.here, 1);
    m.alpha_s = m.nodes > 1 ? p->nic_latency_s.value : p->nvlink_latency_s.value;
    return m;
}

/* As many rings as members on a node, each by its own NIC while there are so many. */
static double ring_s(const RhPlatform *p, const Meeting *m, int32_t members, double bytes)
{
    double rate = fmin(m->nvlink_bytes_per_s, MIN(m->here, p->nics_per_node) * m->nic_bytes_per_s);
    return rh_collective_closed_form_s(RH_OP_ALL_REDUCE, RH_ALGO_RING, members, bytes, m->alpha_s,
                                       rate);
}

/* The busiest member of a full step moves 4 chunks each way; with several members side by side on
 * every node one of them stays inside. */
static double tree_s(const Meeting *m, int32_t members, double bytes)
{
    double chunks = rh_tree_chunks(members, bytes);
    double moving = fmax((m->here > 1 ? 3 : 4) / m->nic_bytes_per_s, 4 / m->nvlink_bytes_per_s);
    return (2 * rh_tree_depth(members) + chunks - 1) * (m->alpha_s + moving * bytes / (2 * chunks));
}

RhAlgo rh_collective_choose(RhOp op, int32_t members, const int32_t *node_of, double bytes,
                            const RhPlatform *platform, char **why)
{
    Meeting m = meeting_of(platform, members, node_of);
    if (op != RH_OP_ALL_REDUCE || m.nodes < 2) {
        RhAlgo only = op == RH_OP_ALL_TO_ALL ? RH_ALGO_DIRECT
                      : op == RH_OP_BARRIER  ? RH_ALGO_RECURSIVE_DOUBLING
                                             : RH_ALGO_RING;
        if (why)
            *why = g_strdup_printf("%s: the one algorithm for %s %s", rh_algo_name(only),
                                   rh_op_name(op), m.nodes < 2 ? "inside a node" : "between nodes");
        return only;
    }
    double ring = ring_s(platform, &m, members, bytes), tree = tree_s(&m, members, bytes);
    if (why)
        *why = g_strdup_printf(
            "%s: ring %.4g ms, double binary tree %.4g ms over %d members on %d nodes",
            ring <= tree ? "ring" : "tree", ring * 1e3, tree * 1e3, members, m.nodes);
    return ring <= tree ? RH_ALGO_RING : RH_ALGO_TREE;
}
