/* Links and routes through the tree of switches. */
#include "platforms/fabric/fabric_link_numbers.h"

int32_t rh_platform_gpus(const RhPlatform *p)
{
    return p->nodes_count * p->gpus_per_node;
}

int32_t rh_platform_links_count(const RhPlatform *p)
{
    return rh_outside_base(p) + (p->outside ? p->outside->links(p) : 0);
}

RhLink rh_platform_host_link(const RhPlatform *p, int32_t gpu, bool out)
{
    int32_t sharers = MAX(1, (int32_t)p->host_gpus_per_link.value);
    int32_t local = gpu % p->gpus_per_node, first = local / sharers * sharers;
    return rh_host_base(p) + 2 * (gpu - local + first) + (out ? RH_LINK_UP : RH_LINK_DOWN);
}

RhLink rh_platform_nvme_link(const RhPlatform *p, int32_t node, bool out)
{
    return rh_nvme_base(p) + 2 * node + (out ? RH_LINK_UP : RH_LINK_DOWN);
}

RhLink rh_platform_memory_link(const RhPlatform *p, int32_t node)
{
    return rh_memory_base(p) + 2 * node;
}

/* Tier at which the two nodes' paths join. A rail-optimised tier joins only NICs of one rail. */
static int32_t common_tier(const RhPlatform *p, int32_t node_a, int32_t node_b, bool rail_same)
{
    int32_t t = 0;
    while (!rh_tier_is_root(p, t) && (rh_tier_group(p, t, node_a) != rh_tier_group(p, t, node_b) ||
                                      (p->tiers[t].rail_optimised && !rail_same)))
        t++;
    return t;
}

/* Are these rails that never join, not even at the root? Their traffic changes rail over NVLink
 * before it leaves the node (NCCL's PXN), through the first GPU of the wanted rail. */
static bool needs_pxn(const RhPlatform *p, int32_t rail_src, int32_t rail_dst)
{
    return rail_src != rail_dst && p->tiers[p->tiers_count - 1].rail_optimised;
}

static int32_t proxy_of(const RhPlatform *p, int32_t src, int32_t rail)
{
    int32_t local = (rail * p->gpus_per_node + p->nics_per_node - 1) / p->nics_per_node;
    return rh_platform_node_of(p, src) * p->gpus_per_node + local;
}

/* Converts the links of a wiring into those of the platform; returns how many. */
static int32_t add_wired(const RhPlatform *p, const RhWiring *wiring, int32_t src, int32_t dst,
                         RhLink base, RhLink *links)
{
    int32_t count = wiring->route(p, src, dst, links);
    for (int32_t i = 0; i < count; i++)
        links[i] += base;
    return count;
}

/* Adds the links from one GPU's port to another's of the same node. */
static int32_t add_inside(const RhPlatform *p, int32_t src, int32_t dst, RhLink *links)
{
    int32_t count = 0, node = rh_platform_node_of(p, src), first = node * p->gpus_per_node;
    bool by_host =
        p->inside && p->inside->by_host && p->inside->by_host(p, src - first, dst - first);
    links[count++] = by_host ? rh_platform_host_link(p, src, true) : 2 * src + RH_LINK_UP;
    if (p->inside)
        count += add_wired(p, p->inside, src - first, dst - first,
                           rh_wired_base(p) + node * p->inside->links(p), links + count);
    links[count++] = by_host ? rh_platform_host_link(p, dst, false) : 2 * dst + RH_LINK_DOWN;
    return count;
}

int32_t rh_platform_route(const RhPlatform *p, int32_t src, int32_t dst, RhLink links[RH_ROUTE_MAX])
{
    int32_t count = 0, node_src = rh_platform_node_of(p, src),
            node_dst = rh_platform_node_of(p, dst);
    if (src == dst)
        return 0;
    if (node_src == node_dst)
        return add_inside(p, src, dst, links);
    int32_t rail_src = rh_gpu_nic(p, src), rail_dst = rh_gpu_nic(p, dst);
    if (needs_pxn(p, rail_src, rail_dst)) {
        count = add_inside(p, src, proxy_of(p, src, rail_dst), links);
        rail_src = rail_dst;
    }
    int32_t nics = rh_nic_base(p), top = common_tier(p, node_src, node_dst, rail_src == rail_dst);
    links[count++] = nics + 2 * (node_src * p->nics_per_node + rail_src) + RH_LINK_UP;
    if (p->outside)
        count += add_wired(p, p->outside, node_src, node_dst, rh_outside_base(p), links + count);
    int32_t base = nics + 2 * p->nodes_count * p->nics_per_node, bases[RH_TIERS_MAX];
    for (int32_t t = 0; t < top; t++) {
        int32_t rails = rh_tier_rails(p, t), rail = rails > 1 ? rail_src : 0;
        bases[t] = base;
        links[count++] = base + 2 * (rh_tier_group(p, t, node_src) * rails + rail) + RH_LINK_UP;
        base += rh_tier_links(p, t);
    }
    for (int32_t t = top - 1; t >= 0; t--) {
        int32_t rails = rh_tier_rails(p, t), rail = rails > 1 ? rail_dst : 0;
        links[count++] =
            bases[t] + 2 * (rh_tier_group(p, t, node_dst) * rails + rail) + RH_LINK_DOWN;
    }
    links[count++] = nics + 2 * (node_dst * p->nics_per_node + rail_dst) + RH_LINK_DOWN;
    return count;
}

/* Place within a block: unit modulo block. Blocks are mostly powers of two, and this is called
 * often. */
static inline int32_t place_in(int32_t unit, int32_t block)
{
    return (block & (block - 1)) == 0 ? unit & (block - 1) : unit % block;
}

RhLink rh_platform_link_turned(const RhPlatform *p, int32_t block, RhLink link, int32_t *alike)
{
    int32_t base = 0, tier = 0;
    bool own = true;                 /* the link is at a place of the block */
    if (link < rh_tier_base(p, 0)) { /* most calls ask for these */
        if (link >= rh_nic_base(p)) {
            base = rh_nic_base(p);
            own = p->nics_per_node == p->gpus_per_node;
        }
        *alike = own ? block : 1;
        return own ? link - 2 * place_in((link - base) / 2, block) : link;
    }
    if (link >= rh_wired_base(p)) {
        *alike = 1;
        return link;
    }
    if (link >= rh_host_base(p)) {
        own = link < rh_nvme_base(p) && p->host_gpus_per_link.value <= 1;
        *alike = own ? block : 1;
        return own ? link - 2 * place_in((link - rh_host_base(p)) / 2, block) : link;
    }
    own = p->nics_per_node == p->gpus_per_node;
    if (own) {
        while (link >= rh_tier_base(p, tier + 1))
            tier++;
        base = rh_tier_base(p, tier);
        own = p->tiers[tier].rail_optimised;
    }
    *alike = own ? block : 1;
    return own ? link - 2 * place_in((link - base) / 2, block) : link;
}

RhFootprint rh_platform_footprint(void)
{
    RhFootprint none = {.first_node = G_MAXINT32, .last_node = -1};
    for (int32_t t = 0; t < RH_TIERS_MAX; t++)
        none.least[t] = G_MAXINT32;
    return none;
}

void rh_platform_footprint_add(const RhPlatform *p, RhFootprint *set, int32_t gpu)
{
    int32_t node = rh_platform_node_of(p, gpu);
    set->first_node = MIN(set->first_node, node);
    set->last_node = MAX(set->last_node, node);
    for (int32_t t = 0; t + 1 < p->tiers_count; t++) {
        int32_t place = node % p->tiers[t].nodes_per_group;
        set->least[t] = MIN(set->least[t], place);
        set->most[t] = MAX(set->most[t], place);
    }
}

/* Does a footprint look alike at this tier after a move by `by` nodes? All its nodes, or none, must
 * cross a switch boundary by the remainder, and no switch that it reaches may be partly filled. */
static bool tier_moves_alike(const RhPlatform *p, int32_t t, const RhFootprint *set, int32_t by)
{
    int32_t nodes = p->tiers[t].nodes_per_group, places = (by % nodes + nodes) % nodes;
    bool none_passes = set->most[t] + places < nodes, all_pass = set->least[t] + places >= nodes;
    if (!none_passes && !all_pass)
        return false;
    int32_t switches = (by - places) / nodes + all_pass;
    return switches == 0 || set->last_node + MAX(0, by) < p->nodes_count / nodes * nodes;
}

bool rh_platform_moves_alike(const RhPlatform *p, const RhFootprint *set, int32_t by_gpus)
{
    int32_t by = by_gpus / p->gpus_per_node;
    if (by_gpus % p->gpus_per_node != 0 || p->link_changes->len > 0 || set->last_node < 0 ||
        (p->outside && by != 0) || set->first_node + by < 0 ||
        set->last_node + by >= p->nodes_count)
        return false;
    for (int32_t t = 0; t + 1 < p->tiers_count; t++)
        if (!tier_moves_alike(p, t, set, by))
            return false;
    return true;
}

bool rh_platform_nodes_alike(const RhPlatform *p, int32_t nodes)
{
    bool alike = p->link_changes->len == 0 && p->gpu_speeds->len == 0 && !p->outside &&
                 rh_platform_devices_count(p) == 1 && p->messages.sender == RH_SHARING_NONE;
    for (int32_t t = 0; t < p->tiers_count && alike; t++)
        alike = rh_tier_group(p, t, nodes - 1) == 0;
    return alike;
}

double rh_platform_route_latency_s(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t node_src = rh_platform_node_of(p, src), node_dst = rh_platform_node_of(p, dst);
    if (src == dst)
        return 0;
    if (node_src == node_dst) {
        int32_t each = p->gpus_per_node;
        bool counts = p->inside && p->inside->hops;
        return p->nvlink_latency_s.value *
               (counts ? p->inside->hops(p, src % each, dst % each) : 1);
    }
    int32_t rail_src = rh_gpu_nic(p, src), rail_dst = rh_gpu_nic(p, dst);
    bool proxied = needs_pxn(p, rail_src, rail_dst);
    double latency_s = p->nic_latency_s.value + (proxied ? p->nvlink_latency_s.value : 0);
    int32_t top = common_tier(p, node_src, node_dst, proxied || rail_src == rail_dst);
    for (int32_t t = 0; t <= top; t++)
        latency_s += p->tiers[t].hop_latency_s.value *
                     (p->outside ? p->outside->hops(p, node_src, node_dst) : 1);
    return latency_s;
}

static bool is_full(const RhPlatform *p, int32_t t, int32_t node)
{
    return (rh_tier_group(p, t, node) + 1) * p->tiers[t].nodes_per_group <= p->nodes_count;
}

int32_t rh_platform_route_kind(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t node_src = rh_platform_node_of(p, src), node_dst = rh_platform_node_of(p, dst);
    int32_t rail_src = rh_gpu_nic(p, src), rail_dst = rh_gpu_nic(p, dst);
    if (src == dst || p->link_changes->len > 0 || p->inside || p->outside)
        return -1;
    if (node_src == node_dst)
        return 0;
    if (needs_pxn(p, rail_src, rail_dst))
        return -1;
    int32_t top = common_tier(p, node_src, node_dst, rail_src == rail_dst);
    for (int32_t t = 0; t < top; t++)
        if (!is_full(p, t, node_src) || !is_full(p, t, node_dst))
            return -1;
    return 1 + top;
}

RhSwitchLinks rh_platform_switch_links(const RhPlatform *p)
{
    RhSwitchLinks links = {rh_tier_base(p, 0), rh_tier_base(p, 0), rh_host_base(p)};
    for (int32_t t = 0; t < p->tiers_count && p->link_changes->len == 0; t++) {
        if (p->tiers[t].oversubscription.value > 1)
            break;
        links.ample_end += rh_tier_links(p, t);
    }
    return links;
}

/* Parts of a wiring's link, which are numbered after all others. */
static RhLinkParts wired_parts(const RhPlatform *p, RhLink link)
{
    if (link >= rh_outside_base(p))
        return (RhLinkParts){.kind = RH_LINK_OUTSIDE, .unit = link - rh_outside_base(p)};
    int32_t index = link - rh_wired_base(p), each = p->inside->links(p);
    return (RhLinkParts){.kind = RH_LINK_INSIDE, .owner = index / each, .unit = index % each};
}

/* Parts of a link that only copies cross. */
static RhLinkParts copy_parts(const RhPlatform *p, RhLink link, RhLinkParts parts)
{
    int32_t base = rh_host_base(p);
    parts.kind = RH_LINK_HOST;
    if (link >= rh_storage_base(p)) {
        parts.kind = RH_LINK_STORAGE;
        base = rh_storage_base(p);
    } else if (link >= rh_memory_base(p)) {
        parts.kind = RH_LINK_MEMORY;
        base = rh_memory_base(p);
    } else if (link >= rh_nvme_base(p)) {
        parts.kind = RH_LINK_NVME;
        base = rh_nvme_base(p);
    }
    parts.owner = (link - base) / 2;
    return parts;
}

RhLinkParts rh_link_parts(const RhPlatform *p, RhLink link)
{
    if (link >= rh_wired_base(p))
        return wired_parts(p, link);
    RhLinkParts parts = {.end = (link & 1) ? RH_LINK_DOWN : RH_LINK_UP};
    int32_t base = rh_nic_base(p);
    if (link < base) {
        parts.kind = RH_LINK_NVLINK;
        parts.owner = link / 2;
        return parts;
    }
    if (link >= rh_host_base(p)) {
        return copy_parts(p, link, parts);
    }
    int32_t index = (link - base) / 2, units = p->nics_per_node;
    parts.kind = RH_LINK_NIC;
    base += 2 * p->nodes_count * p->nics_per_node;
    if (link >= base) {
        parts.kind = RH_LINK_TIER;
        while (link >= base + rh_tier_links(p, parts.tier))
            base += rh_tier_links(p, parts.tier++);
        index = (link - base) / 2;
        units = rh_tier_rails(p, parts.tier);
    }
    parts.owner = index / units;
    parts.unit = index % units;
    return parts;
}
