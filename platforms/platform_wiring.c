/* Reads "islands", "mesh", "torus" and "dragonfly" of a platform's file. */
#include "base/error.h"
#include "base/interned_strings.h"
#include "platforms/fabric/wiring.h"
#include "platforms/platform_constants.h"
#include "platforms/platform_private.h"

#define GROUPS_MAX 4096 /* keeps the links between them far inside int32 */

/* Checks that a rate is given, in this file or in the platform that it derives from. */
static void check_rate(RhJson *doc, const RhJsonNode *node, const RhFact *rate)
{
    if (node && !(rate->value > 0) && !rh_json_has(node, "bandwidth"))
        rh_json_problem(doc, node, NULL, "key \"bandwidth\" is missing");
}

static void read_islands(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    const RhJsonNode *islands = rh_json_object_or_null(doc, root, "islands");
    if (islands && (p->island_gpus == 0 || rh_json_has(islands, "gpus")))
        p->island_gpus = (int32_t)rh_json_int(doc, islands, "gpus", 1, 1024);
    check_rate(doc, islands, &p->island_bytes_per_s);
    if (p->gpus_per_node % MAX(1, p->island_gpus) != 0)
        rh_json_problem(doc, islands ? islands : root, NULL,
                        "%d GPUs of a node are no number of islands of %d", p->gpus_per_node,
                        p->island_gpus);
}

/* Reads a row of "joined": the number of links to each other GPU. */
static void read_joined(RhJson *doc, const RhJsonNode *row, int32_t gpu, RhMesh *mesh)
{
    int32_t sum = 0;
    if (rh_json_count(row) != mesh->gpus) {
        rh_json_problem(doc, row, NULL, "%d GPUs are joined, this row has %d numbers", mesh->gpus,
                        rh_json_count(row));
        return;
    }
    for (int32_t k = 0; k < mesh->gpus; k++) {
        const RhJsonNode *cell = rh_json_at(row, k);
        int32_t links = (int32_t)rh_json_node_int(doc, cell, 0, UINT8_MAX);
        mesh->joined[gpu][k] = (uint8_t)links;
        sum += links;
        if (k == gpu && links > 0)
            rh_json_problem(doc, cell, NULL, "GPU %d is joined to itself", gpu);
        if (k < gpu && mesh->joined[k][gpu] != links)
            rh_json_problem(doc, cell, NULL, "%d links from GPU %d to GPU %d, %d back", links, gpu,
                            k, mesh->joined[k][gpu]);
    }
    if (sum > mesh->links.value)
        rh_json_problem(doc, row, NULL, "GPU %d has %d links, \"links\" says %g", gpu, sum,
                        mesh->links.value);
}

/* Reads the mesh. An empty list means none, as in a file that derives from one with a mesh. */
static void read_mesh(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    static const RhRange links = {1, 1024, false};
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "mesh");
    const RhJsonNode *joined = node ? rh_json_array(doc, node, "joined") : NULL;
    RhMesh mesh = {.gpus = rh_json_count(joined)};
    if (node && mesh.gpus > 0)
        mesh.links = rh_json_fact_within(doc, node, "links", RH_QUANTITY_COUNT, &links);
    if (mesh.gpus > RH_MESH_MAX) {
        rh_json_problem(doc, joined, NULL, "a mesh joins at most %d GPUs", RH_MESH_MAX);
        return;
    }
    for (int32_t gpu = 0; gpu < mesh.gpus; gpu++)
        read_joined(doc, rh_json_at(joined, gpu), gpu, &mesh);
    if (node)
        p->mesh = mesh;
    if (p->mesh.gpus > 0 && p->gpus_per_node > p->mesh.gpus)
        rh_json_problem(doc, node ? node : root, NULL, "%d GPUs of a node, the mesh joins %d",
                        p->gpus_per_node, p->mesh.gpus);
}

/* Makes the only tier, the root: it joins all nodes with one hop. */
static void make_root(RhJson *doc, const RhJsonNode *node, const RhWiring *wiring, RhPlatform *p)
{
    p->outside = wiring;
    p->tiers_count = 1;
    p->tiers[0] = (RhSwitchLevel){.name = rh_intern(wiring->name),
                                  .nodes_per_group = RH_PLATFORM_GPUS_MAX,
                                  .oversubscription = {.value = 1,
                                                       .tag = RH_TAG_DATASHEET,
                                                       .source = rh_intern("root: no uplink"),
                                                       .date = rh_intern("")},
                                  .hop_latency_s = rh_json_fact_within(
                                      doc, node, "hop_latency", RH_QUANTITY_S, &rh_range_hop_s)};
}

static void read_torus(RhJson *doc, const RhJsonNode *node, RhPlatform *p)
{
    const RhJsonNode *extents = rh_json_array(doc, node, "nodes");
    int count = rh_json_count(extents), farthest = 0;
    int64_t nodes = 1;
    make_root(doc, node, &rh_wiring_torus, p);
    if (count < 1 || count > RH_TORUS_MAX) {
        rh_json_problem(doc, node, NULL, "a torus has 1 to %d dimensions, not %d", RH_TORUS_MAX,
                        count);
        p->outside = NULL;
        return;
    }
    p->torus_count = count;
    for (int d = 0; d < count; d++) {
        p->torus[d] = (int32_t)rh_json_node_int(doc, rh_json_at(extents, d), 1, 1024);
        nodes = MIN(nodes * p->torus[d], INT32_MAX);
        farthest += p->torus[d] / 2;
    }
    if (nodes > RH_PLATFORM_GPUS_MAX || farthest > RH_WIRED_MAX)
        rh_json_problem(doc, extents, NULL, "a torus has at most %d nodes, %d hops apart",
                        RH_PLATFORM_GPUS_MAX, RH_WIRED_MAX);
    else if (rh_json_has(rh_json_root(doc), "nodes") && p->nodes_count != nodes)
        rh_json_problem(doc, extents, NULL, "\"nodes\" says %d, the torus has %d", p->nodes_count,
                        (int)nodes);
    else
        p->nodes_count = (int32_t)nodes;
}

static void read_dragonfly(RhJson *doc, const RhJsonNode *node, RhPlatform *p)
{
    make_root(doc, node, &rh_wiring_dragonfly, p);
    p->dragonfly_nodes = (int32_t)rh_json_int(doc, node, "nodes", 1, RH_PLATFORM_GPUS_MAX);
}

void rh_platform_read_wirings(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    const RhJsonNode *torus = rh_json_object_or_null(doc, root, "torus");
    const RhJsonNode *dragonfly = rh_json_object_or_null(doc, root, "dragonfly");
    bool tree = rh_json_has(root, "tiers");
    if (tree || torus || dragonfly) { /* otherwise the fabric is that of the platform derived
                                       * from */
        p->outside = NULL;
        p->torus_count = p->dragonfly_nodes = 0;
    }
    if ((torus != NULL) + (dragonfly != NULL) + tree > 1)
        rh_json_problem(doc, root, NULL, "nodes are joined by one of tiers, torus and dragonfly");
    check_rate(doc, torus, &p->torus_bytes_per_s);
    check_rate(doc, dragonfly, &p->dragonfly_bytes_per_s);
    if (torus)
        read_torus(doc, torus, p);
    else if (dragonfly)
        read_dragonfly(doc, dragonfly, p);
    read_islands(doc, root, p);
    read_mesh(doc, root, p);
    rh_platform_settle_inside(p);
}

void rh_platform_settle_inside(RhPlatform *p)
{
    bool mesh = p->mesh.gpus > 0;
    p->inside = mesh ? &rh_wiring_mesh : p->island_gpus > 0 ? &rh_wiring_islands : NULL;
    rh_mesh_settle(p);
}

bool rh_platform_wirings_allow(const RhPlatform *p, int64_t nodes, int64_t gpus_per_node,
                               GError **error)
{
    int64_t all = 1;
    for (int32_t d = 0; d < p->torus_count; d++)
        all *= p->torus[d];
    if (p->outside == &rh_wiring_torus && nodes != all)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s is a torus of %d nodes, not of %d\nhelp: say its nodes along each "
                       "dimension in a file of its own",
                       p->name, (int)all, (int)nodes);
    if (p->outside == &rh_wiring_dragonfly && nodes > (int64_t)GROUPS_MAX * p->dragonfly_nodes)
        return rh_fail(error, RH_ERROR_INPUT, "%s: a dragonfly has at most %d groups", p->name,
                       GROUPS_MAX);
    if (p->mesh.gpus > 0 && gpus_per_node > p->mesh.gpus)
        return rh_fail(error, RH_ERROR_INPUT, "the mesh of a node joins %d GPUs, not %d",
                       p->mesh.gpus, (int)gpus_per_node);
    if (p->island_gpus > 0 && gpus_per_node % p->island_gpus != 0)
        return rh_fail(error, RH_ERROR_INPUT, "%d GPUs of a node are no number of islands of %d",
                       (int)gpus_per_node, p->island_gpus);
    return true;
}
