#include "platforms/platform.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhPlatform *load(const char *spec)
{
    g_autoptr(GError) error = NULL;
    RhPlatform *p = rh_platform_load(spec, &error);
    if (p == NULL)
        CU_FAIL_FATAL(error->message);
    return p;
}

static RhLink link_of(const RhPlatform *p, const char *name)
{
    RhLink link = rh_platform_link_by_name(p, name);
    if (link < 0)
        CU_FAIL(name);
    return link;
}

/* The route as names, joined by blanks. */
static void check_route(const RhPlatform *p, int32_t src, int32_t dst, const char *expected)
{
    RhLink links[RH_ROUTE_MAX];
    int32_t count = rh_platform_route(p, src, dst, links);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int32_t i = 0; i < count; i++) {
        g_autofree char *name = rh_platform_link_name(p, links[i]);
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", name);
    }
    CU_ASSERT_STRING_EQUAL(text->str, expected);
}

static bool refused(const char *spec, RhErrorCode code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load(spec, &error);
    return p == NULL && g_error_matches(error, RH_ERROR, (int)code);
}

static void the_catalogue_is_what_the_makers_say(void)
{
    static const struct {
        const char *spec, *device;
        int32_t gpus, nics;
        double nvlink, nic;
    } rows[] = {
        {"aws-g4dn", "t4", 4, 1, 16e9, 6.25e9},
        {"aws-g5", "a10g", 8, 1, 32e9, 12.5e9},
        {"aws-g6", "l4", 8, 1, 32e9, 12.5e9},
        {"aws-g6e", "l40s", 8, 4, 32e9, 12.5e9},
        {"aws-p3", "v100-sxm-32", 8, 1, 150e9, 12.5e9},
        {"aws-p3-2xlarge", "v100-sxm-16", 1, 1, 450e9, 1.25e9},
        {"aws-p4d", "a100-sxm-40", 8, 4, 300e9, 12.5e9},
        {"aws-p4de", "a100-sxm-80", 8, 4, 300e9, 12.5e9},
        {"aws-p5", "h100-sxm", 8, 8, 450e9, 50e9},
        {"aws-p5en", "h200-sxm", 8, 8, 450e9, 50e9},
        {"aws-p6-b200", "b200-sxm", 8, 8, 900e9, 50e9},
        {"aws-p6-b300", "b300-sxm", 8, 8, 900e9, 100e9},
        {"aws-p6e-gb200", "gb200", 72, 72, 900e9, 50e9},
        {"azure-nd-a100", "a100-sxm-80", 8, 8, 300e9, 25e9},
        {"azure-nd-a100-40", "a100-sxm-40", 8, 8, 300e9, 25e9},
        {"azure-nd-gb200", "gb200", 72, 72, 900e9, 50e9},
        {"azure-nd-h100", "h100-sxm", 8, 8, 450e9, 50e9},
        {"azure-nd-h200", "h200-sxm", 8, 8, 450e9, 50e9},
        {"azure-nd-mi300x", "mi300x", 8, 8, 448e9, 50e9},
        {"coreweave-b200", "b200-sxm", 8, 8, 900e9, 50e9},
        {"coreweave-gb200", "gb200", 72, 72, 900e9, 50e9},
        {"coreweave-h100", "h100-sxm", 8, 8, 450e9, 50e9},
        {"coreweave-h200", "h200-sxm", 8, 8, 450e9, 50e9},
        {"dgx-1", "v100-sxm-32", 8, 4, 150e9, 12.5e9},
        {"dgx-2", "v100-sxm-32", 16, 8, 150e9, 12.5e9},
        {"dgx-a100", "a100-sxm-80", 8, 8, 300e9, 25e9},
        {"dgx-a100-40:2", "a100-sxm-40", 16, 8, 300e9, 25e9},
        {"dgx-b200:2", "b200-sxm", 16, 8, 900e9, 50e9},
        {"dgx-b300", "b300-sxm", 8, 8, 900e9, 100e9},
        {"dgx-h100", "h100-sxm", 8, 8, 450e9, 50e9},
        {"dgx-h200:4", "h200-sxm", 32, 8, 450e9, 50e9},
        {"frontera", "xeon-8280", 2, 1, 62.4e9, 12.5e9},
        {"frontier:9408", "mi250x-gcd", 75264, 4, 350e9, 25e9},
        {"gaudi2", "gaudi2", 8, 8, 262.5e9, 37.5e9},
        {"gaudi3", "gaudi3", 8, 8, 525e9, 75e9},
        {"gb200-nvl64:4", "gb200", 256, 64, 900e9, 50e9},
        {"gb200-nvl72:2", "gb200", 144, 72, 900e9, 50e9},
        {"gb300-nvl64", "gb300", 64, 64, 900e9, 100e9},
        {"gb300-nvl72", "gb300", 72, 72, 900e9, 100e9},
        {"gcp-a2", "a100-sxm-40", 8, 1, 300e9, 12.5e9},
        {"gcp-a2-ultra", "a100-sxm-80", 8, 1, 300e9, 12.5e9},
        {"gcp-a3-high", "h100-sxm", 8, 4, 450e9, 25e9},
        {"gcp-a3-mega", "h100-sxm", 8, 8, 450e9, 25e9},
        {"gcp-a3-ultra", "h200-sxm", 8, 8, 450e9, 50e9},
        {"gcp-a4", "b200-sxm", 8, 8, 900e9, 50e9},
        {"gcp-a4x", "gb200", 72, 72, 900e9, 50e9},
        {"grand-teton", "h100-sxm-96", 8, 8, 450e9, 50e9},
        {"hgx-a800", "a800-sxm-80", 8, 8, 200e9, 25e9},
        {"hgx-h800", "h800-sxm", 8, 8, 200e9, 50e9},
        {"lab-2x4", "lab-rank", 8, 1, 25e6, 12.5e6},
        {"lab-star", "lab-rank", 8, 1, 25e6, 12.5e6},
        {"lab-tree", "lab-rank", 8, 1, 25e6, 12.5e6},
        {"lambda-b200", "b200-sxm", 8, 8, 900e9, 50e9},
        {"lambda-h100", "h100-sxm", 8, 8, 450e9, 50e9},
        {"llama3-roce", "h100-sxm", 24576, 8, 450e9, 50e9},
        {"mi300x", "mi300x", 8, 8, 448e9, 50e9},
        {"mi355x", "mi355x", 8, 8, 537.6e9, 50e9},
        {"oci-a100", "a100-sxm-80", 8, 8, 300e9, 25e9},
        {"oci-a100-40", "a100-sxm-40", 8, 8, 300e9, 25e9},
        {"oci-b200", "b200-sxm", 8, 8, 900e9, 50e9},
        {"oci-gb200", "gb200", 72, 72, 900e9, 50e9},
        {"oci-h100", "h100-sxm", 8, 8, 450e9, 50e9},
        {"oci-h200", "h200-sxm", 8, 8, 450e9, 50e9},
        {"oci-mi300x", "mi300x", 8, 8, 448e9, 50e9},
        {"pcie-gen3", "t4", 8, 2, 16e9, 12.5e9},
        {"pcie-gen4", "a100-pcie-80", 8, 2, 32e9, 25e9},
        {"pcie-gen5", "h100-pcie", 8, 2, 64e9, 50e9},
        {"selene", "a100-sxm-80", 4480, 8, 300e9, 25e9},
        {"summit:4608", "v100-sxm-16", 27648, 2, 100e9, 12.5e9},
        {"tpu-v5e", "tpu-v5e", 256, 1, 600e9, 200e9},
        {"tpu-v5p", "tpu-v5p", 64, 1, 600e9, 600e9},
        {"tpu-v6e", "tpu-v6e", 256, 1, 600e9, 400e9},
        {"v100-40gbe", "v100-sxm-16", 1, 1, 16e9, 5e9},
        {"v100-edr", "v100-sxm-16", 4, 1, 16e9, 12.5e9},
        {"vista:600", "gh200-96", 600, 1, 450e9, 50e9},
        {"xeon-bluefield-2", "xeon-8280", 2, 1, 62.4e9, 12.5e9},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhPlatform) p = load(rows[i].spec);
        CU_ASSERT_STRING_EQUAL(p->name, rows[i].spec);
        CU_ASSERT_STRING_EQUAL(p->device->name, rows[i].device);
        CU_ASSERT_EQUAL(rh_platform_gpus(p), rows[i].gpus);
        CU_ASSERT_EQUAL(p->nics_per_node, rows[i].nics);
        RH_CHECK_CLOSE(p->nvlink_bytes_per_s.value, rows[i].nvlink, 1e-12);
        RH_CHECK_CLOSE(p->nic_bytes_per_s.value, rows[i].nic, 1e-12);
        /* Kernels move the bytes, but where processors or engines of their own do. */
        bool gpus = p->messages.sender == RH_SHARING_NONE &&
                    !g_str_has_prefix(p->device->name, "xeon") &&
                    !g_str_has_prefix(p->name, "tpu") && !g_str_has_prefix(p->name, "gaudi");
        CU_ASSERT_TRUE(p->collective_sms.value >= gpus &&
                       p->collective_sms.value < p->device->sms_count);
    }
    int count = 0;
    for (const char *const *name = rh_platform_names(); *name != NULL; name++, count++)
        if (name[1] != NULL)
            CU_ASSERT_TRUE(strcmp(name[0], name[1]) < 0);
    CU_ASSERT_EQUAL(count, (int)G_N_ELEMENTS(rows));
}

static void every_fact_has_a_source(void)
{
    for (const char *const *name = rh_platform_names(); *name != NULL; name++) {
        g_autoptr(RhPlatform) p = load(*name);
        const RhFact *facts[] = {&p->nvlink_bytes_per_s,  &p->nvlink_efficiency_frac,
                                 &p->nvlink_latency_s,    &p->nic_bytes_per_s,
                                 &p->nic_efficiency_frac, &p->nic_latency_s,
                                 &p->host_bytes_per_s,    &p->collective_launch_s};
        for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
            CU_ASSERT_TRUE(facts[i]->value > 0 || p->messages.sender != RH_SHARING_NONE);
            CU_ASSERT_NOT_EQUAL(facts[i]->tag, RH_TAG_NONE);
            CU_ASSERT_TRUE(strlen(facts[i]->source) > 5);
        }
        for (int32_t t = 0; t < p->tiers_count; t++) {
            CU_ASSERT_TRUE(strlen(p->tiers[t].hop_latency_s.source) > 5);
            CU_ASSERT_TRUE(strlen(p->tiers[t].oversubscription.source) > 5);
        }
    }
}

static void inside_a_node_traffic_stays_on_nvlink(void)
{
    g_autoptr(RhPlatform) p = load("dgx-h100");
    check_route(p, 3, 3, "");
    check_route(p, 1, 6, "nvlink/node0/gpu1/up nvlink/node0/gpu6/down");
    CU_ASSERT_EQUAL(rh_platform_route_latency_s(p, 3, 3), 0);
    CU_ASSERT_EQUAL(rh_platform_route_latency_s(p, 1, 6), p->nvlink_latency_s.value);
}

static void one_rail_stays_below_its_leaf_and_two_rails_climb(void)
{
    g_autoptr(RhPlatform) p = load("dgx-h100:64");
    check_route(p, 1, 17, "nic/node0/1/tx nic/node2/1/rx");
    check_route(p, 1, 18, "nic/node0/1/tx leaf/0/rail1/up leaf/0/rail2/down nic/node2/2/rx");
    check_route(p, 1, 32 * 8 + 1,
                "nic/node0/1/tx leaf/0/rail1/up leaf/1/rail1/down nic/node32/1/rx");
    double base_s = p->nic_latency_s.value, leaf_s = p->tiers[0].hop_latency_s.value;
    RH_CHECK_CLOSE(rh_platform_route_latency_s(p, 1, 17), base_s + leaf_s, 1e-12);
    RH_CHECK_CLOSE(rh_platform_route_latency_s(p, 1, 18),
                   base_s + leaf_s + p->tiers[1].hop_latency_s.value, 1e-12);
}

static void pods_of_llama3_are_crossed_at_the_top(void)
{
    g_autoptr(RhPlatform) p = load("llama3-roce");
    check_route(p, 0, 8, "nic/node0/0/tx nic/node1/0/rx");
    check_route(p, 0, 3071, "nic/node0/0/tx rack/0/up rack/191/down nic/node383/7/rx");
    check_route(p, 0, 3072,
                "nic/node0/0/tx rack/0/up pod/0/up pod/1/down rack/192/down nic/node384/0/rx");
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "rack/0/up")), 16 * nic, 1e-12);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "pod/7/down")), 3072 * nic / 7,
                   1e-12);
}

static void a_rail_uplink_carries_one_nic_per_node(void)
{
    g_autoptr(RhPlatform) p = load("h100-sxm:8x6,ib:400Gb/s,leaf:4,rail,oversub:2");
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "leaf/0/rail3/up")), 4 * nic / 2,
                   1e-12);
    /* the last group holds two nodes */
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "leaf/1/rail3/up")), 2 * nic / 2,
                   1e-12);
    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "leaf/0/up"), -1);
    CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "leaf/2/rail0/up"), -1);
}

static void rails_that_never_meet_are_changed_over_nvlink(void)
{
    g_autoptr(RhPlatform) p = load("h100-sxm:8x2,rail");
    check_route(p, 0, 8, "nic/node0/0/tx nic/node1/0/rx");
    check_route(p, 0, 11,
                "nvlink/node0/gpu0/up nvlink/node0/gpu3/down nic/node0/3/tx nic/node1/3/rx");
    CU_ASSERT_TRUE(rh_platform_route_latency_s(p, 0, 11) > rh_platform_route_latency_s(p, 0, 8));
}

static void gpus_share_nics_in_order(void)
{
    g_autoptr(RhPlatform) p = load("a100-sxm-40:4x2,ib:100Gb/s,nics:2");
    check_route(p, 1, 4, "nic/node0/0/tx nic/node1/0/rx");
    check_route(p, 2, 7, "nic/node0/1/tx nic/node1/1/rx");
    g_autoptr(RhPlatform) one = load("a100-sxm-40:8x2,ib:100Gb/s,nics:1");
    check_route(one, 7, 15, "nic/node0/0/tx nic/node1/0/rx");
}

static void check_names(const RhPlatform *p)
{
    int32_t count = rh_platform_links_count(p);
    for (RhLink link = 0; link < count; link++) {
        g_autofree char *name = rh_platform_link_name(p, link);
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        CU_ASSERT_EQUAL(rh_platform_link_by_name(p, name), link);
        CU_ASSERT_TRUE(rh_platform_link_bytes_per_s(p, link) > 0);
    }
}

static void every_link_has_a_name_of_its_own(void)
{
    static const char *const specs[] = {"dgx-a100",
                                        "dgx-h100:40",
                                        "h100-sxm:8x6,leaf:4,rail",
                                        "b200-sxm:4x5,nics:2,leaf:2",
                                        "h100-sxm:8x1",
                                        "summit:3",
                                        "frontier:2",
                                        "tpu-v5p",
                                        NULL};
    for (const char *const *spec = specs; *spec != NULL; spec++) {
        g_autoptr(RhPlatform) p = load(*spec);
        check_names(p);
        CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "nvlink/node999/gpu0/up"), -1);
        CU_ASSERT_EQUAL(rh_platform_link_by_name(p, "nvlink/node0/gpu0/sideways"), -1);
        CU_ASSERT_EQUAL(rh_platform_link_by_name(p, ""), -1);
    }
}

/* Every link of every route exists, no route crosses a link twice, and there and back are equally
 * long. */
static void routes_are_simple_and_symmetric(void)
{
    static const char *const specs[] = {"dgx-h100:40",
                                        "h100-sxm:4x6,leaf:2,rail,nics:2",
                                        "h100-sxm:8x3,rail",
                                        "llama3-roce:6",
                                        "summit:4",
                                        "tpu-v5p",
                                        NULL};
    for (const char *const *spec = specs; *spec != NULL; spec++) {
        g_autoptr(RhPlatform) p = load(*spec);
        int32_t gpus = rh_platform_gpus(p), links_count = rh_platform_links_count(p);
        RhLink there[RH_ROUTE_MAX], back[RH_ROUTE_MAX];
        for (int32_t a = 0; a < gpus; a += 3)
            for (int32_t b = 0; b < gpus; b++) {
                int32_t n = rh_platform_route(p, a, b, there);
                CU_ASSERT_EQUAL(rh_platform_route(p, b, a, back), n);
                CU_ASSERT_TRUE(n <= RH_ROUTE_MAX && (n == 0) == (a == b));
                for (int32_t i = 0; i < n; i++) {
                    CU_ASSERT_TRUE(there[i] >= 0 && there[i] < links_count);
                    for (int32_t j = 0; j < i; j++)
                        CU_ASSERT_NOT_EQUAL(there[i], there[j]);
                }
            }
    }
}

/* Takes every link between the set's GPUs to one of the same rate between the moved ones, no two to
 * the same. */
static void check_moved(const RhPlatform *p, const int32_t *gpus, int32_t count, int32_t by)
{
    int32_t links = rh_platform_links_count(p);
    g_autofree int32_t *to = g_new0(int32_t, links), *from = g_new0(int32_t, links); /* 1 + link */
    for (int32_t i = 0; i < count * count; i++) {
        int32_t a = gpus[i / count], b = gpus[i % count];
        RhLink here[RH_ROUTE_MAX], there[RH_ROUTE_MAX];
        int32_t n = rh_platform_route(p, a, b, here);
        CU_ASSERT_EQUAL_FATAL(rh_platform_route(p, a + by, b + by, there), n);
        CU_ASSERT_EQUAL(rh_platform_route_latency_s(p, a, b),
                        rh_platform_route_latency_s(p, a + by, b + by));
        for (int32_t k = 0; k < n; k++) {
            to[here[k]] = to[here[k]] ? to[here[k]] : there[k] + 1;
            from[there[k]] = from[there[k]] ? from[there[k]] : here[k] + 1;
            CU_ASSERT_EQUAL(to[here[k]], there[k] + 1);
            CU_ASSERT_EQUAL(from[there[k]], here[k] + 1);
            CU_ASSERT_EQUAL(rh_platform_link_bytes_per_s(p, here[k]),
                            rh_platform_link_bytes_per_s(p, there[k]));
        }
    }
}

static void a_set_that_moves_alike_meets_links_alike(void)
{
    static const char *const specs[] = {"h100-sxm:4x22,leaf:4", "h100-sxm:2x24,leaf:6,rail,nics:2",
                                        "h100-sxm:4x6", "llama3-roce:12", NULL};
    g_autoptr(GRand) rand = g_rand_new_with_seed(10);
    int32_t alike = 0, unlike = 0;
    for (int32_t i = 0; i < 400; i++) {
        g_autoptr(RhPlatform) p = load(specs[i % 4]);
        int32_t all = rh_platform_gpus(p), gpus[64], count = 0;
        int32_t extent = g_rand_int_range(rand, 1, 8), stride = g_rand_int_range(rand, 1, 13);
        int32_t first = g_rand_int_range(rand, 0, all), side = g_rand_int_range(rand, 1, 4);
        RhFootprint set = rh_platform_footprint();
        for (int32_t k = 0; k < extent * side; k++)
            if (first + k / side * stride + k % side < all)
                rh_platform_footprint_add(p, &set,
                                          gpus[count++] = first + k / side * stride + k % side);
        for (int32_t by = -all; by <= all; by++) {
            bool moves = rh_platform_moves_alike(p, &set, by);
            alike += moves && by != 0;
            unlike += !moves;
            if (moves)
                check_moved(p, gpus, count, by);
        }
        CU_ASSERT_TRUE(rh_platform_moves_alike(p, &set, 0));
    }
    CU_ASSERT_TRUE(alike > 400 && unlike > 400);
}

typedef struct {
    double latency_s, bytes_per_s;
    bool known;
} Kind;

/* Checks that all pairs of a kind have one latency and one slowest link; returns the number of
 * kinds. */
static int32_t check_kinds(const char *spec)
{
    g_autoptr(RhPlatform) p = load(spec);
    Kind kinds[2 + RH_TIERS_MAX] = {0};
    int32_t gpus = p->nodes_count * p->gpus_per_node, count = 0;
    for (int32_t pair = 0; pair < gpus * gpus; pair++) {
        int32_t src = pair / gpus, dst = pair % gpus, kind = rh_platform_route_kind(p, src, dst);
        if (kind < 0)
            continue;
        RhLink links[RH_ROUTE_MAX];
        Kind own = {rh_platform_route_latency_s(p, src, dst), 1e99, true};
        for (int32_t i = rh_platform_route(p, src, dst, links); i-- > 0;)
            own.bytes_per_s = MIN(own.bytes_per_s, rh_platform_link_bytes_per_s(p, links[i]));
        count += !kinds[kind].known;
        if (!kinds[kind].known)
            kinds[kind] = own;
        CU_ASSERT_EQUAL(kinds[kind].latency_s, own.latency_s);
        CU_ASSERT_EQUAL(kinds[kind].bytes_per_s, own.bytes_per_s);
    }
    return count;
}

static void routes_of_a_kind_are_as_long_and_as_fast(void)
{
    CU_ASSERT_EQUAL(check_kinds("llama3-roce:19"), 3); /* in a node, in a rack, in the pod */
    CU_ASSERT_EQUAL(check_kinds("dgx-h100:40"), 3);    /* the last leaf is not full */
    CU_ASSERT_TRUE(check_kinds("aws-p5:9") >= 2);
    CU_ASSERT_EQUAL(check_kinds("summit:3"), 0); /* bricks: no switch that all share */
}

static void scaling_a_link_changes_only_that_link(void)
{
    g_autoptr(RhPlatform) p = load("dgx-h100:64");
    RhLink up = link_of(p, "leaf/0/rail1/up"), other = link_of(p, "leaf/0/rail2/up");
    double before = rh_platform_link_bytes_per_s(p, up);
    double other_before = rh_platform_link_bytes_per_s(p, other);
    rh_platform_link_scale(p, up, 0.5);
    rh_platform_link_scale(p, up, 0.25); /* replaces, does not multiply */
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, up), before / 4, 1e-12);
    CU_ASSERT_EQUAL(rh_platform_link_bytes_per_s(p, other), other_before);
    g_autoptr(RhPlatform) copy = rh_platform_copy(p);
    rh_platform_link_scale(copy, up, 1);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, up), before / 4, 1e-12);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(copy, up), before, 1e-12);
}

static void set(RhPlatform *p, const char *key, const char *value)
{
    g_autoptr(GError) error = NULL;
    if (!rh_platform_set(p, key, value, &error))
        CU_FAIL(error->message);
}

static void what_ifs_change_value_tag_and_hash(void)
{
    g_autoptr(RhPlatform) p = load("llama3-roce:800");
    g_autofree char *hash = g_strdup(p->hash);
    set(p, "nic.bandwidth", "200Gb/s");
    RH_CHECK_CLOSE(p->nic_bytes_per_s.value, 25e9, 1e-12);
    CU_ASSERT_EQUAL(p->nic_bytes_per_s.tag, RH_TAG_ASSUMED);
    CU_ASSERT_STRING_NOT_EQUAL(p->hash, hash);
    set(p, "pod.oversubscription", "1");
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "pod/0/up")),
                   3072 * 25e9 * p->nic_efficiency_frac.value, 1e-12);
    set(p, "pod.hop_latency", "1ms");
    CU_ASSERT_TRUE(rh_platform_route_latency_s(p, 0, 16) > 1e-3);
    double before = rh_platform_link_bytes_per_s(p, link_of(p, "pod/0/up"));
    set(p, "link.pod/0/up", "50%");
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "pod/0/up")), before / 2, 1e-12);
    RhKernel k = {.cls = RH_KERNEL_NORM, .bytes = 1e9};
    double before_s = rh_kernel_time_s(p->device, &k);
    set(p, "device.hbm_bandwidth", "6.7TB/s");
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &k), before_s / 2, 1e-9);
}

static void counts_can_be_set_before_links_are_scaled(void)
{
    g_autoptr(RhPlatform) p = load("dgx-h100:2");
    set(p, "nodes", "3");
    set(p, "nics_per_node", "2");
    set(p, "collective.sms", "20");
    CU_ASSERT_EQUAL(rh_platform_gpus(p), 24);
    CU_ASSERT_EQUAL(p->collective_sms.value, 20);
    set(p, "link.nic/node0/0/tx", "0.5");
    CU_ASSERT_FALSE(rh_platform_set(p, "nodes", "4", NULL));
}

static void wrong_what_ifs_are_refused(void)
{
    static const char *const wrong[][2] = {
        {"nic.bandwith", "1GB/s"},        {"nic.bandwidth", "fast"},
        {"nic.bandwidth", "0GB/s"},       {"nodes", "0"},
        {"nics_per_node", "9"},           {"pod.oversubscription", "2"},
        {"leaf.oversubscription", "0.5"}, {"link.leaf/9/up", "0.5"},
        {"collective.sms", "132"},
    };
    g_autoptr(RhPlatform) p = load("dgx-h100:2");
    g_autofree char *hash = g_strdup(p->hash);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_platform_set(p, wrong[i][0], wrong[i][1], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
    CU_ASSERT_STRING_EQUAL(p->hash, hash);
}

/* "node1.speed" slows all GPUs of a node, "node0.gpu5.speed" one. */
static void speeds_are_set_by_node_and_by_gpu(void)
{
    g_autoptr(RhPlatform) p = load("dgx-h100:3");
    set(p, "node1.speed", "0.5");
    set(p, "node0.gpu5.speed", "0.8");
    for (int32_t gpu = 0; gpu < 24; gpu++)
        CU_ASSERT_EQUAL(rh_platform_gpu_speed(p, gpu), gpu == 5 ? 0.8 : gpu / 8 == 1 ? 0.5 : 1);
}

/* An unknown key is answered with those of its family, those of the device in full as well. */
static void unknown_keys_get_their_family(void)
{
    static const char *const rows[][2] = {{"nic.count", "nic.latency"},
                                          {"device.pauer", "device.gemm.k_split"}};
    g_autoptr(RhPlatform) p = load("dgx-h100:2");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_platform_set(p, rows[i][0], "1", &error));
        CU_ASSERT_TRUE(error != NULL && strstr(error->message, rows[i][1]) != NULL);
    }
}

static void one_line_says_what_it_says(void)
{
    const char *line = "h100-sxm:4x16,nvlink:300GB/s,roce:100Gb/s,nics:2,latency:3us,leaf:8,"
                       "oversub:3";
    g_autoptr(RhPlatform) p = load(line);
    CU_ASSERT_STRING_EQUAL(p->name, line);
    CU_ASSERT_EQUAL(p->gpus_per_node, 4);
    CU_ASSERT_EQUAL(p->nodes_count, 16);
    CU_ASSERT_EQUAL(p->nics_per_node, 2);
    RH_CHECK_CLOSE(p->nvlink_bytes_per_s.value, 300e9, 1e-12);
    RH_CHECK_CLOSE(p->nic_bytes_per_s.value, 12.5e9, 1e-12);
    RH_CHECK_CLOSE(p->nic_latency_s.value, 3e-6, 1e-12);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "leaf/1/up")),
                   16 * 12.5e9 * p->nic_efficiency_frac.value / 3, 1e-12);
    g_autoptr(RhPlatform) again = load(p->name);
    CU_ASSERT_STRING_EQUAL(again->hash, p->hash);
}

static void what_a_line_omits_comes_from_the_dgx(void)
{
    g_autoptr(RhPlatform) line = load("b200-sxm:8x2");
    g_autoptr(RhPlatform) dgx = load("dgx-b200");
    CU_ASSERT_EQUAL(line->nvlink_bytes_per_s.value, dgx->nvlink_bytes_per_s.value);
    CU_ASSERT_EQUAL(line->nic_latency_s.value, dgx->nic_latency_s.value);
    CU_ASSERT_EQUAL(line->tiers_count, 1);
}

static void bad_platforms_are_refused(void)
{
    CU_ASSERT_TRUE(refused("dgx-h10", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("dgx-h100:zero", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("dgx-h100:0", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("/nowhere/x.json", RH_ERROR_IO));
    CU_ASSERT_TRUE(refused("h100-sxm:8x", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,ib", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,ib:0Gb/s", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,wifi:1Gb/s", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,nics:9", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,oversub:2", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,rail:maybe", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("h100-sxm:8x2,ib:400Gb/s,roce:400Gb/s", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("v100:8x2", RH_ERROR_INPUT));
    CU_ASSERT_TRUE(refused("", RH_ERROR_INPUT));
}

static void a_shorter_cluster_keeps_its_partial_pod(void)
{
    g_autoptr(RhPlatform) p = load("llama3-roce:2048"); /* 5 1/3 pods */
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    CU_ASSERT_EQUAL(rh_platform_gpus(p), 16384);
    RH_CHECK_CLOSE(rh_platform_link_bytes_per_s(p, link_of(p, "pod/5/up")), 128 * 8 * nic / 7,
                   1e-12);
}

#define TEST(fn)                                                                                   \
    {                                                                                              \
#fn, fn                                                                                    \
    }
int main(void)
{
    return rh_test_main("platform", (RhTest[]){
                                        TEST(the_catalogue_is_what_the_makers_say),
                                        TEST(every_fact_has_a_source),
                                        TEST(inside_a_node_traffic_stays_on_nvlink),
                                        TEST(one_rail_stays_below_its_leaf_and_two_rails_climb),
                                        TEST(pods_of_llama3_are_crossed_at_the_top),
                                        TEST(a_rail_uplink_carries_one_nic_per_node),
                                        TEST(rails_that_never_meet_are_changed_over_nvlink),
                                        TEST(gpus_share_nics_in_order),
                                        TEST(every_link_has_a_name_of_its_own),
                                        TEST(routes_are_simple_and_symmetric),
                                        TEST(a_set_that_moves_alike_meets_links_alike),
                                        TEST(routes_of_a_kind_are_as_long_and_as_fast),
                                        TEST(scaling_a_link_changes_only_that_link),
                                        TEST(what_ifs_change_value_tag_and_hash),
                                        TEST(counts_can_be_set_before_links_are_scaled),
                                        TEST(wrong_what_ifs_are_refused),
                                        TEST(speeds_are_set_by_node_and_by_gpu),
                                        TEST(unknown_keys_get_their_family),
                                        TEST(one_line_says_what_it_says),
                                        TEST(what_a_line_omits_comes_from_the_dgx),
                                        TEST(bad_platforms_are_refused),
                                        TEST(a_shorter_cluster_keeps_its_partial_pod),
                                        {0},
                                    });
}
