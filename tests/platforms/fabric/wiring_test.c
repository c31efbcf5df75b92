/* Islands, tori and dragonflies: routes against closed forms of hops and bisections. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "platforms/fabric/wiring.h"
#include "tests/kit/testkit.h"

#define RATE(v)                                                                                    \
    "{\"value\": \"" v "\", \"tag\": \"assumed\", \"source\": \"test\", \"date\": \"2026-01\"}"

/* A lab of one rank a node with the network `network`. */
static RhPlatform *load(const char *more, GError **error)
{
    g_autofree char *text = g_strdup_printf(
        "{\"name\": \"t\", \"derives\": \"dgx-h100\", \"gpus_per_node\": 1, \"nics_per_node\": 1, %s}",
        more);
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("rh-wiring-XXXXXX.json", &path, NULL);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
    close(file);
    RhPlatform *p = rh_platform_load(path, error);
    unlink(path);
    return p;
}

static RhPlatform *loaded(const char *more)
{
    g_autoptr(GError) error = NULL;
    RhPlatform *p = load(more, &error);
    if (!p)
        CU_FAIL_FATAL(error->message);
    return p;
}

#define TORUS(nodes)                                                                               \
    "\"torus\": {\"nodes\": [" nodes                                                               \
    "], \"bandwidth\": " RATE("100GB/s") ", \"hop_latency\": " RATE("1us") "}"

static bool is_wired(const RhPlatform *p, RhLink link, const char *kind)
{
    g_autofree char *name = rh_platform_link_name(p, link);
    return g_str_has_prefix(name, kind);
}

static int32_t wired(const RhPlatform *p, int32_t src, int32_t dst, const char *kind)
{
    RhLink links[RH_ROUTE_MAX];
    int32_t count = rh_platform_route(p, src, dst, links), hops = 0;
    for (int32_t i = 0; i < count; i++)
        hops += is_wired(p, links[i], kind);
    CU_ASSERT_TRUE(count <= RH_ROUTE_MAX);
    return hops;
}

/* Nodes passed, by the names of the links: each begins where the one before ended. */
static void follow(const RhPlatform *p, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    int32_t count = rh_platform_route(p, src, dst, links), at = src;
    for (int32_t i = 1; i + 1 < count; i++) {
        g_autofree char *name = rh_platform_link_name(p, links[i]);
        int32_t node = -1, stride = 1;
        char dimension = 0, way = 0;
        CU_ASSERT_EQUAL_FATAL(sscanf(name, "torus/node%d/%c%c", &node, &dimension, &way), 3);
        CU_ASSERT_EQUAL(node, at);
        int32_t d = (int32_t)(strchr("xyzw", dimension) - "xyzw");
        for (int32_t k = 0; k < d; k++)
            stride *= p->torus[k];
        int32_t place = at / stride % p->torus[d];
        at += ((place + (way == '+' ? 1 : p->torus[d] - 1)) % p->torus[d] - place) * stride;
    }
    CU_ASSERT_EQUAL(at, dst);
}

/* Hops of a k-ary n-cube: sum over dimensions of min(d, k - d); the mean over all pairs, oneself
 * among them, is n k/4 for even k and n (k - 1/k)/4 for odd (Dally and Towles 2004, section 5.2).
 * Source: Dally and Towles 2004, section 5.2. */
static void routes_of_a_torus_are_shortest(void)
{
    static const struct {
        const char *more;
        double mean;
    } rows[] = {{TORUS("8"), 2},
                {TORUS("4, 4"), 2},
                {TORUS("4, 6, 2"), 1 + 1.5 + 0.5},
                {TORUS("5, 3"), (5 - 1.0 / 5) / 4 + (3 - 1.0 / 3) / 4},
                {TORUS("2, 2, 2, 2"), 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhPlatform) p = loaded(rows[i].more);
        double sum = 0;
        for (int32_t a = 0; a < p->nodes_count; a++)
            for (int32_t b = 0; b < p->nodes_count; b++) {
                int32_t hops = wired(p, a, b, "torus/");
                sum += hops;
                CU_ASSERT_EQUAL(hops, wired(p, b, a, "torus/"));
                if (a == b)
                    continue;
                follow(p, a, b);
                RH_CHECK_CLOSE(rh_platform_route_latency_s(p, a, b),
                               p->nic_latency_s.value + hops * 1e-6, 1e-12);
            }
        RH_CHECK_CLOSE(sum / p->nodes_count / p->nodes_count, rows[i].mean, 1e-12);
    }
}

/* Uniform traffic loads every link of a dimension alike, with k/8 of what a node sends for even k: all
 * that crosses the bisection does so over 2 N/k links each way (same book, section 5.2).
 * Source: Dally and Towles 2004, section 5.2. */
static void uniform_traffic_meets_the_bisection_of_a_torus(void)
{
    g_autoptr(RhPlatform) p = loaded(TORUS("8, 4"));
    int32_t n = p->nodes_count, links_count = rh_platform_links_count(p);
    g_autofree double *flows = g_new0(double, links_count);
    double across = 0, over_cut = 0;
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++) {
            RhLink links[RH_ROUTE_MAX];
            int32_t count = rh_platform_route(p, a, b, links);
            for (int32_t i = 0; i < count; i++)
                flows[links[i]]++;
            across += a % 8 < 4 && b % 8 >= 4;
        }
    for (RhLink link = 0; link < links_count; link++) {
        g_autofree char *name = rh_platform_link_name(p, link);
        int32_t node = 0;
        char d = 0, way = 0;
        if (sscanf(name, "torus/node%d/%c%c", &node, &d, &way) != 3)
            continue;
        RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link), 100e9 * p->nic_efficiency_frac.value,
                       1e-12);
        /* Ties between the two ways round go up: up and down together are alike. */
        bool cut = d == 'x' && ((node % 8 == 3 && way == '+') || (node % 8 == 0 && way == '-'));
        over_cut += cut ? flows[link] : 0;
        if (way == '+')
            RH_CHECK_CLOSE(flows[link] + flows[link + 1], 2 * (d == 'x' ? 8 : 4) / 8.0 * n, 1e-12);
    }
    CU_ASSERT_EQUAL(across, n * n / 4);
    CU_ASSERT_EQUAL(over_cut, across); /* over 2 x 4 links: every one of them once */
}

#define DRAGONFLY                                                                                  \
    "\"nodes\": 24, \"dragonfly\": {\"nodes\": 4, \"bandwidth\": " RATE(                           \
        "50GB/s") ", \"hop_latency\": " RATE("1us") "}"

static void groups_of_a_dragonfly_have_one_link_to_each_other(void)
{
    g_autoptr(RhPlatform) p = loaded(DRAGONFLY);
    int32_t groups = 6, bisection = 0;
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (int32_t a = 0; a < 24; a++)
        for (int32_t b = 0; b < 24; b++) {
            RhLink links[RH_ROUTE_MAX];
            bool far = a / 4 != b / 4;
            CU_ASSERT_EQUAL(wired(p, a, b, "dragonfly/"), far);
            if (a != b)
                RH_CHECK_CLOSE(rh_platform_route_latency_s(p, a, b),
                               p->nic_latency_s.value + (far ? 3e-6 : 1e-6), 1e-12);
            if (!far)
                continue;
            CU_ASSERT_EQUAL(rh_platform_route(p, a, b, links), 3);
            if (g_hash_table_add(seen, GINT_TO_POINTER(links[1])))
                bisection += a / 4 < groups / 2 && b / 4 >= groups / 2;
        }
    CU_ASSERT_EQUAL((int32_t)g_hash_table_size(seen), groups * (groups - 1));
    CU_ASSERT_EQUAL(bisection, groups / 2 * (groups / 2));
}

static void islands_share_their_way_out(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("v100-edr:2", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    int32_t cut = 0;
    for (int32_t a = 0; a < 8; a++)
        for (int32_t b = 0; b < 8; b++) {
            bool across = a / 4 == b / 4 && a / 2 != b / 2;
            CU_ASSERT_EQUAL(wired(p, a, b, "islands/"), across ? 2 : 0);
            cut += across;
        }
    CU_ASSERT_EQUAL(cut, 2 * 2 * 2 * 2);
    RhLink out = rh_platform_link_by_name(p, "islands/node1/0/out");
    CU_ASSERT_TRUE(out >= 0);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, out), 16e9 * p->nvlink_efficiency_frac.value,
                   1e-12);
    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "islands/node1/2/out"), -1);
    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "islands/node2/0/out"), -1);
    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "islands/node0/x"), -1);
    CU_ASSERT_FALSE(rh_platform_set(p, "gpus_per_node", "3", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "islands.bandwidth", "32GB/s", NULL));
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, out), 32e9 * p->nvlink_efficiency_frac.value,
                   1e-12);
}

static void every_wired_link_has_a_name_of_its_own(void)
{
    static const char *const more[] = {TORUS("4, 3"), DRAGONFLY};
    for (size_t i = 0; i < G_N_ELEMENTS(more); i++) {
        g_autoptr(RhPlatform) p = loaded(more[i]);
        for (RhLink link = 0; link < rh_platform_links_count(p); link++) {
            g_autofree char *name = rh_platform_link_name(p, link);
            CU_ASSERT_EQUAL(rh_platform_link_by_name(p, name), link);
        }
        static const char *const none[] = {
            "torus/node99/x+",    "torus/node1/x*",       "torus/node1/w+",    "torus/node1/",
            "torus/node-1/x+",    "dragonfly/group6/to1", "torus/node01/x+",   "torus/x/y",
            "dragonfly/group1/3", "dragonfly/group1/to6", "islands/node0/1/in"};
        for (size_t k = 0; k < G_N_ELEMENTS(none); k++)
            CU_ASSERT_EQUAL(rh_platform_link_by_name(p, none[k]), -1);
    }
}

static void wirings_that_cannot_be_are_refused(void)
{
    static const char *const wrong[] = {
        TORUS(""),
        TORUS("2, 2, 2, 2, 2"),
        TORUS("1024, 1024, 4"),
        TORUS("100"),
        TORUS("0, 4"),
        TORUS("4") ", " DRAGONFLY,
        "\"nodes\": 3, " TORUS("4"),
        "\"torus\": {\"nodes\": [4], \"hop_latency\": " RATE("1us") "}",
        "\"islands\": {\"gpus\": 2, \"bandwidth\": " RATE("1GB/s") "}",
        "\"islands\": {\"gpus\": 1}",
        "\"nodes\": 8192, \"dragonfly\": {\"nodes\": 1, \"bandwidth\": " RATE(
            "1GB/s") ", \"hop_latency\": " RATE("1us") "}",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) p = load(wrong[i], &error);
        CU_ASSERT_PTR_NULL(p);
        CU_ASSERT_TRUE(p || g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        if (p)
            CU_FAIL(wrong[i]);
    }
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_platform_load("tpu-v5p:8", &error)); /* no part of a torus is one */
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
}

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }

int main(void)
{
    return rh_test_main("wiring",
                        (RhTest[]){TEST(routes_of_a_torus_are_shortest),
                                   TEST(uniform_traffic_meets_the_bisection_of_a_torus),
                                   TEST(groups_of_a_dragonfly_have_one_link_to_each_other),
                                   TEST(islands_share_their_way_out),
                                   TEST(every_wired_link_has_a_name_of_its_own),
                                   TEST(wirings_that_cannot_be_are_refused),
                                   {0}});
}
