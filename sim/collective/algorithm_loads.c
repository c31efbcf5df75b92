/* Loads of an algorithm under construction, from which its cost is estimated. */
#include "sim/collective/algorithm_interface.h"

void rh_loads_add(RhLoads *l, double steps, double node_bytes, double nic_bytes, int32_t senders)
{
    RhLoad load = {.steps = steps, .node_bytes = node_bytes};
    g_return_if_fail(l->count < RH_LOADS_MAX);
    if (l->at.nodes > 1 && senders > 0) {
        load.leaves = true;
        load.reach = l->at.per_node;
        load.node_bytes = l->at.per_node > 1 ? node_bytes : 0;
        load.nic_bytes = nic_bytes * senders / MIN(senders, MAX(1, l->at.nics_per_node));
    }
    l->load[l->count++] = load;
}

void rh_loads_add_all(RhLoads *l, double steps, double bytes)
{
    rh_loads_add(l, steps, bytes, bytes, l->at.per_node);
}

void rh_loads_reach(RhLoads *l, int32_t members)
{
    l->load[l->count - 1].reach = MAX(members, l->at.per_node);
}
