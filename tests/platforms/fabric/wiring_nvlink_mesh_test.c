/* Meshes of NVLinks: routes, rings over them, and the bandwidth that NCCL's searches come to. */
#include <math.h>
#include <stdio.h>

#include "platforms/fabric/wiring.h"
#include "sim/collective/collective.h"
#include "sim/collective/rings.h"
#include "tests/kit/testkit.h"

static RhPlatform *loaded(const char *spec)
{
    RhPlatform *p = rh_platform_load(spec, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* Bus bandwidth as nccl-tests count it: 2 (n - 1) / n of the buffer a member and second. */
static double busbw(const RhPlatform *p, int32_t n, const int32_t *gpus)
{
    double bytes = 64e9;
    double s = rh_collective_alone_s(RH_OP_ALL_REDUCE, RH_ALGO_RING, n, gpus, bytes, p);
    return 2.0 * (n - 1) / n * bytes / s;
}

/* Channels of 25 GB/s each way as NCCL finds them: of eight GPUs three rings either way round (NVIDIA's
 * whitepaper of DGX-1: three interwoven rings of NVLinks), of a pair as many as it has links. Sets are
 * counted by hand on the matrix: of 0-3 one ring 0-1-2-3 and one 0-2-1-3; of 0, 1, 2 one; 0 and 5 have
 * no link and meet by way of 1 or 4, over one that is single.
 * Source: NVIDIA DGX-1 whitepaper (WP-08437), topology and rings. */
static void all_reduce_reaches_what_its_rings_carry(void)
{
    static const struct {
        int32_t n, gpus[8], channels;
    } sets[] = {{8, {0, 1, 2, 3, 4, 5, 6, 7}, 6},
                {4, {0, 1, 2, 3}, 4},
                {3, {0, 1, 2}, 2},
                {2, {0, 1}, 1},
                {2, {0, 3}, 2},
                {2, {0, 5}, 1},
                {4, {0, 4, 7, 3}, 2},
                {6, {0, 1, 2, 3, 5, 6}, 2}};
    g_autoptr(RhPlatform) p = loaded("dgx-1");
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++) {
        double link = 25e9 * p->nvlink_efficiency_frac.value;
        g_autoptr(RhRings) rings = rh_rings_new(p, sets[i].n, sets[i].gpus);
        CU_ASSERT_PTR_NOT_NULL_FATAL(rings);
        bool right = fabs(rings->bytes_per_s / link - sets[i].channels) < 1e-9;
        if (!right)
            fprintf(stderr, "    set %d: %g channels, not %d\n", (int)i, rings->bytes_per_s / link,
                    sets[i].channels);
        CU_ASSERT_TRUE(right);
        RH_CHECK_CLOSE(busbw(p, sets[i].n, sets[i].gpus), rings->bytes_per_s, 1e-3);
    }
}

/* Four V100s joined by two links each: NCCL's own graph has six channels of 22 GB/s (NVIDIA/nccl issue
 * 713, Dell's C4140); and of three on a socket of Summit all four links are in use.
 * Source: NVIDIA/nccl issue 713, graph dump of a C4140. */
static void full_meshes_use_every_link(void)
{
    g_autoptr(RhPlatform) p = loaded("dgx-1");
    for (int32_t a = 0; a < 4; a++)
        for (int32_t b = 0; b < 4; b++)
            p->mesh.joined[a][b] = a == b ? 0 : 2;
    rh_mesh_settle(p);
    int32_t four[] = {0, 1, 2, 3}, channels = 0;
    g_autoptr(RhRings) rings = rh_rings_new(p, 4, four);
    for (int32_t i = 0; i < rings->rings_count; i++)
        channels += rings->channels[i];
    CU_ASSERT_EQUAL(channels, 6);
    RH_CHECK_CLOSE(rings->bytes_per_s, 150e9 * p->nvlink_efficiency_frac.value, 1e-12);
    g_autoptr(RhPlatform) summit = loaded("summit");
    g_autoptr(RhRings) socket = rh_rings_new(summit, 3, four);
    RH_CHECK_CLOSE(socket->bytes_per_s, 100e9 * summit->nvlink_efficiency_frac.value, 1e-12);
    int32_t six[] = {0, 1, 2, 3, 4, 5};
    g_autoptr(RhRings) node = rh_rings_new(summit, 6, six);
    /* Both ways over the link between sockets, one after the other each way. */
    RH_CHECK_CLOSE(
        node->bytes_per_s,
        MIN(64e9 * summit->nvlink_efficiency_frac.value, 2 * summit->host_bytes_per_s.value), 0.15);
}

/* Rings are not searched among GPUs on a switch, on nodes that hold others, or of one. */
static void rings_are_searched_over_meshes_alone(void)
{
    int32_t gpus[] = {0, 1, 2, 9, 10, 12};
    g_autoptr(RhPlatform) p = loaded("dgx-1:2");
    g_autoptr(RhPlatform) sw = loaded("dgx-2");
    CU_ASSERT_PTR_NULL(rh_rings_new(sw, 4, gpus));
    CU_ASSERT_PTR_NULL(rh_rings_new(p, 1, gpus));
    CU_ASSERT_PTR_NULL(rh_rings_new(p, 6, gpus));
    CU_ASSERT_PTR_NULL(rh_rings_new(NULL, 4, gpus));
    int32_t alike[] = {1, 2, 5, 9, 10, 13};
    g_autoptr(RhRings) rings = rh_rings_new(p, 6, alike);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rings);
    CU_ASSERT_EQUAL(rings->members, 3);
    CU_ASSERT_EQUAL(rings->rings_count, 1);
}

/* A link where there is one, else two over a third GPU, else the host's; there and back alike. */
static void routes_follow_the_links(void)
{
    static const char *const platforms[] = {"dgx-1", "summit", "frontier"};
    static const int32_t by_relay[] = {24, 0, 32}, by_host[] = {0, 18, 0};
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        g_autoptr(RhPlatform) p = loaded(platforms[i]);
        int32_t relayed = 0, hosted = 0, n = p->gpus_per_node;
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = 0; b < n; b++) {
                RhLink links[RH_ROUTE_MAX];
                int count = rh_platform_route(p, a, b, links);
                bool joined = a != b && p->mesh.joined[a][b] > 0;
                CU_ASSERT_EQUAL(joined, a != b && count == 3);
                if (joined)
                    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, links[1]),
                                   p->mesh.joined[a][b] * p->nvlink_bytes_per_s.value /
                                       p->mesh.links.value * p->nvlink_efficiency_frac.value,
                                   1e-12);
                for (int k = 0; k < count; k++) {
                    g_autofree char *name = rh_platform_link_name(p, links[k]);
                    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, name), links[k]);
                }
                if (a == b || joined)
                    continue;
                g_autofree char *first = rh_platform_link_name(p, links[0]);
                bool host = g_str_has_prefix(first, "host/");
                hosted += host;
                relayed += !host;
                CU_ASSERT_EQUAL(count, 4);
                RH_CHECK_CLOSE(rh_platform_route_latency_s(p, a, b), 2 * p->nvlink_latency_s.value,
                               1e-12);
            }
        CU_ASSERT_EQUAL(relayed, by_relay[i]);
        CU_ASSERT_EQUAL(hosted, by_host[i]);
    }
}

/* A node of fewer GPUs has the first of the mesh; more than it joins there are not. */
static void a_mesh_may_be_used_in_part(void)
{
    g_autoptr(RhPlatform) p = loaded("dgx-1");
    CU_ASSERT_FALSE(rh_platform_set(p, "gpus_per_node", "9", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "gpus_per_node", "4", NULL));
    RhLink links[RH_ROUTE_MAX];
    CU_ASSERT_EQUAL(rh_platform_route(p, 0, 3, links), 3);
    CU_ASSERT_EQUAL(rh_platform_links_count(p) > links[1], true);
    g_autoptr(RhPlatform) line = loaded("v100-sxm-32:8x4");
    g_autoptr(RhPlatform) more = loaded("v100-sxm-32:16x4");
    CU_ASSERT_EQUAL(line->mesh.gpus, 8);
    CU_ASSERT_EQUAL(more->mesh.gpus, 0);
    CU_ASSERT_PTR_NULL(more->inside);
}

int main(void)
{
    return rh_test_main(
        "wiring_mesh",
        (RhTest[]){
            {"all_reduce_reaches_what_its_rings_carry", all_reduce_reaches_what_its_rings_carry},
            {"full_meshes_use_every_link", full_meshes_use_every_link},
            {"rings_are_searched_over_meshes_alone", rings_are_searched_over_meshes_alone},
            {"routes_follow_the_links", routes_follow_the_links},
            {"a_mesh_may_be_used_in_part", a_mesh_may_be_used_in_part},
            {0}});
}
