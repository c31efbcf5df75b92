/* Links to storage: the way of a node to it, and how fast all nodes get there. */
#include <math.h>

#include "platforms/fabric/fabric_link_numbers.h"

int rh_platform_storage_route(const RhPlatform *p, int32_t gpu, bool out,
                              RhLink links[RH_STORAGE_ROUTE_MAX])
{
    int count = 0;
    int32_t node = rh_platform_node_of(p, gpu), nic = rh_gpu_nic(p, gpu);
    RhLinkEnd end = out ? RH_LINK_UP : RH_LINK_DOWN;
    bool shared = p->storage.network_bytes_per_s.value <= 0;
    if (shared)
        links[count++] = rh_nic_base(p) + 2 * (node * p->nics_per_node + nic) + end;
    for (int32_t t = 0; shared && !p->outside && t < p->tiers_count - 1; t++) {
        int32_t rails = rh_tier_rails(p, t);
        links[count++] = rh_tier_base(p, t) +
                         2 * (rh_tier_group(p, t, node) * rails + (rails > 1 ? nic : 0)) + end;
    }
    links[count++] = rh_storage_base(p) + 2 * node + end;
    links[count++] = rh_storage_base(p) + 2 * p->nodes_count + end;
    return count;
}

double rh_platform_storage_bytes_per_s(const RhPlatform *p, int32_t nodes, bool out)
{
    RhLink links[RH_STORAGE_ROUTE_MAX];
    int count = rh_platform_storage_route(p, 0, out, links);
    double all = rh_platform_link_bytes_per_s(p, links[count - 1]);
    for (int i = 0; i < count - 1; i++) {
        RhLinkParts parts = rh_link_parts(p, links[i]);
        double rate = rh_platform_link_bytes_per_s(p, links[i]), sharers = 1;
        if (parts.kind == RH_LINK_NIC)
            rate *= p->nics_per_node;
        if (parts.kind == RH_LINK_TIER) {
            rate *= rh_tier_rails(p, parts.tier);
            sharers = MIN(nodes, p->tiers[parts.tier].nodes_per_group);
        }
        all = fmin(all, rate / sharers * nodes);
    }
    return all;
}
