/* A node of islands: GPUs below one PCIe switch, or on one socket, and a link from each island to
 * the rest of the node. Inside an island GPUs are joined as on a switch. */
#include "platforms/fabric/wiring.h"

static int32_t links(const RhPlatform *p)
{
    return 2 * (p->gpus_per_node / p->island_gpus);
}

static int32_t route(const RhPlatform *p, int32_t src, int32_t dst, int32_t *crossed)
{
    int32_t from = src / p->island_gpus, to = dst / p->island_gpus;
    if (from == to)
        return 0;
    crossed[0] = 2 * from;
    crossed[1] = 2 * to + 1;
    return 2;
}

static double bytes_per_s(const RhPlatform *p, int32_t link)
{
    (void)link;
    return p->island_bytes_per_s.value * p->nvlink_efficiency_frac.value;
}

static char *link_name(const RhPlatform *p, int32_t link)
{
    (void)p;
    return g_strdup_printf("%d/%s", link / 2, link % 2 ? "in" : "out");
}

static int64_t link_named(const RhPlatform *p, const char *name)
{
    (void)p;
    return 2 * g_ascii_strtoll(name, NULL, 10) + g_str_has_suffix(name, "/in");
}

const RhWiring rh_wiring_islands = {
    .name = "islands",
    .links = links,
    .route = route,
    .bytes_per_s = bytes_per_s,
    .link_name = link_name,
    .link_named = link_named,
};
