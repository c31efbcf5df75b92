/* A dragonfly: groups of nodes behind fully connected switches, and a link from each group to each
 * other one. Messages take the minimal route, over the one link between their groups (Kim, Dally,
 * Scott, Abts 2008); switches inside a group are taken to be non-blocking. Where routing is
 * adaptive and other groups are idle, a tier of the tree with the group's share of the global links
 * is the better model. */
#include <string.h>

#include "platforms/fabric/wiring.h"

static int32_t groups(const RhPlatform *p)
{
    return (p->nodes_count + p->dragonfly_nodes - 1) / p->dragonfly_nodes;
}

static int32_t links(const RhPlatform *p)
{
    return groups(p) * groups(p);
}

static int32_t route(const RhPlatform *p, int32_t src, int32_t dst, int32_t *crossed)
{
    int32_t from = src / p->dragonfly_nodes, to = dst / p->dragonfly_nodes;
    crossed[0] = from * groups(p) + to;
    return from == to ? 0 : 1;
}

/* Switch hops from node to node: inside a group from a switch to itself or its neighbour; between
 * groups to the switch with the global link, over it, and on to the node's. */
static int32_t hops(const RhPlatform *p, int32_t src, int32_t dst)
{
    return src / p->dragonfly_nodes == dst / p->dragonfly_nodes ? 1 : 3;
}

static double bytes_per_s(const RhPlatform *p, int32_t link)
{
    (void)link;
    return p->dragonfly_bytes_per_s.value * p->nic_efficiency_frac.value;
}

static char *link_name(const RhPlatform *p, int32_t link)
{
    return g_strdup_printf("group%d/to%d", link / groups(p), link % groups(p));
}

static int64_t link_named(const RhPlatform *p, const char *name)
{
    const char *to = strstr(name, "/to");
    if (!g_str_has_prefix(name, "group") || !to)
        return -1;
    return g_ascii_strtoll(name + strlen("group"), NULL, 10) * groups(p) +
           g_ascii_strtoll(to + strlen("/to"), NULL, 10);
}

const RhWiring rh_wiring_dragonfly = {
    .name = "dragonfly",
    .outside = true,
    .links = links,
    .route = route,
    .hops = hops,
    .bytes_per_s = bytes_per_s,
    .link_name = link_name,
    .link_named = link_named,
};
