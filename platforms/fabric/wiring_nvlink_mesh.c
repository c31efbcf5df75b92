/* A node whose GPUs are joined directly by NVLinks (or Infinity Fabric), some by two, some by none,
 * as in DGX-1, Summit and MI250X. Two GPUs without a direct link use a third as relay that has
 * links to both, the widest and then the first (NCCL's paths of type NVB: through NVLinks "using an
 * intermediate GPU", at most one; src/graph/paths.cc); where there is none, bytes take the links to
 * the host, and between islands those of the islands. */
#include <stdio.h>

#include "platforms/fabric/wiring.h"

static int32_t edge_links(const RhPlatform *p)
{
    return p->mesh.links_count;
}

static int32_t links(const RhPlatform *p)
{
    return edge_links(p) + (p->island_gpus > 0 ? rh_wiring_islands.links(p) : 0);
}

static int32_t route(const RhPlatform *p, int32_t src, int32_t dst, int32_t *crossed)
{
    const RhMesh *mesh = &p->mesh;
    int32_t relay = mesh->relay[src][dst];
    if (mesh->link[src][dst] >= 0) {
        crossed[0] = mesh->link[src][dst];
        return 1;
    }
    if (relay >= 0) {
        crossed[0] = mesh->link[src][relay];
        crossed[1] = mesh->link[relay][dst];
        return 2;
    }
    int32_t count = p->island_gpus > 0 ? rh_wiring_islands.route(p, src, dst, crossed) : 0;
    for (int32_t i = 0; i < count; i++)
        crossed[i] += edge_links(p);
    return count;
}

static bool by_host(const RhPlatform *p, int32_t src, int32_t dst)
{
    return p->mesh.link[src][dst] < 0 && p->mesh.relay[src][dst] < 0;
}

static int32_t hops(const RhPlatform *p, int32_t src, int32_t dst)
{
    return p->mesh.link[src][dst] >= 0 ? 1 : 2;
}

/* Source and destination GPU of a directed link, which is one direction of an edge. */
static void ends_of(const RhPlatform *p, int32_t link, int32_t *src, int32_t *dst)
{
    for (*src = 0; *src < p->gpus_per_node; ++*src)
        for (*dst = 0; *dst < p->gpus_per_node; ++*dst)
            if (p->mesh.link[*src][*dst] == link)
                return;
    g_assert_not_reached();
}

static double bytes_per_s(const RhPlatform *p, int32_t link)
{
    int32_t src, dst;
    if (link >= edge_links(p))
        return rh_wiring_islands.bytes_per_s(p, link - edge_links(p));
    ends_of(p, link, &src, &dst);
    return p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value / p->mesh.links.value *
           p->mesh.joined[src][dst];
}

static char *link_name(const RhPlatform *p, int32_t link)
{
    int32_t src, dst;
    if (link >= edge_links(p)) {
        g_autofree char *name = rh_wiring_islands.link_name(p, link - edge_links(p));
        return g_strconcat("island", name, NULL);
    }
    ends_of(p, link, &src, &dst);
    return g_strdup_printf("gpu%d-gpu%d", src, dst);
}

static int64_t link_named(const RhPlatform *p, const char *name)
{
    int src, dst;
    if (g_str_has_prefix(name, "island") && p->island_gpus > 0)
        return edge_links(p) + rh_wiring_islands.link_named(p, name + sizeof "island" - 1);
    if (sscanf(name, "gpu%5d-gpu%5d", &src, &dst) != 2 || src < 0 || dst < 0 ||
        src >= p->gpus_per_node || dst >= p->gpus_per_node)
        return -1;
    return p->mesh.link[src][dst];
}

/* The GPU with the widest links to both; -1: no GPU has links to both. */
static int8_t relay_between(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t best = -1, most = 0;
    for (int32_t via = 0; via < p->gpus_per_node; via++) {
        int32_t width = MIN(p->mesh.joined[src][via], p->mesh.joined[via][dst]);
        if (via != src && via != dst && width > most) {
            most = width;
            best = via;
        }
    }
    return (int8_t)best;
}

void rh_mesh_settle(RhPlatform *p)
{
    RhMesh *mesh = &p->mesh;
    if (mesh->gpus < p->gpus_per_node) /* no mesh, or one that does not fit, which is refused when a
                                        * file is read */
        return;
    int16_t count = 0;
    for (int32_t src = 0; src < p->gpus_per_node; src++)
        for (int32_t dst = 0; dst < p->gpus_per_node; dst++) {
            mesh->link[src][dst] = mesh->joined[src][dst] > 0 ? count++ : -1;
            mesh->relay[src][dst] = relay_between(p, src, dst);
        }
    mesh->links_count = count;
}

const RhWiring rh_wiring_mesh = {
    .name = "mesh",
    .links = links,
    .route = route,
    .by_host = by_host,
    .hops = hops,
    .bytes_per_s = bytes_per_s,
    .link_name = link_name,
    .link_named = link_named,
};
