/* Times of collectives by size: factors, bounds, published bus bandwidths. */
#include "sim/collective/collective_benchmark.h"

#include <math.h>

#include "platforms/profile.h"
#include "tests/kit/testkit.h"

#define GIB (1024.0 * 1024 * 1024)

/* Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md. */
static void bus_factors_are_those_of_nccl_tests(void)
{
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_ALL_REDUCE, 8), 1.75, 1e-15);
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_ALL_GATHER, 8), 0.875, 1e-15);
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_REDUCE_SCATTER, 8), 0.875, 1e-15);
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_ALL_TO_ALL, 8), 0.875, 1e-15);
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_BROADCAST, 8), 1, 1e-15);
    RH_CHECK_CLOSE(rh_collective_bus_factor(RH_OP_SHIFT, 8), 1, 1e-15);
}

/* Applies the catalogue's profile of such links, if it has one. */
static RhPlatform *fitted(const char *name)
{
    RhPlatform *p = rh_platform_load(name, NULL);
    g_assert_nonnull(p);
    const char *profile = rh_platform_links_profile(p);
    g_assert_true(!profile || rh_platform_apply_profile(p, profile, NULL));
    return p;
}

/* No size of any collective is quicker than its bound, on one node, on several, with in-switch sums
 * or without. */
static void nothing_is_quicker_than_its_bound(void)
{
    static const RhOp ops[] = {RH_OP_ALL_REDUCE, RH_OP_ALL_GATHER, RH_OP_REDUCE_SCATTER,
                               RH_OP_ALL_TO_ALL, RH_OP_BROADCAST,  RH_OP_SHIFT};
    static const struct {
        const char *platform;
        int32_t ranks, nodes;
    } places[] = {{"dgx-h100", 8, 1},    {"dgx-h100", 2, 1},    {"dgx-h100:4", 32, 4},
                  {"dgx-h100:4", 4, 4},  {"dgx-a100:2", 16, 2}, {"gb200-nvl72:1", 72, 1},
                  {"dgx-h200:3", 12, 3}, {"mi300x:2", 16, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autoptr(RhPlatform) p = fitted(places[i].platform);
        for (size_t k = 0; k < G_N_ELEMENTS(ops); k++)
            for (double bytes = 1024; bytes <= 16 * GIB; bytes *= 8) {
                RhCollectiveBenchmark benchmark = {
                    .op = ops[k], .ranks = places[i].ranks, .nodes = places[i].nodes};
                RhCollectivePoint point = rh_collective_point(&benchmark, bytes, p);
                CU_ASSERT_TRUE(point.bound_s > 0);
                CU_ASSERT_TRUE(point.seconds >= point.bound_s);
                rh_collective_point_clear(&point);
            }
    }
}

/* A broadcast is a pipeline: large ones take bytes over bandwidth, on many nodes as on two, and small
 * ones a latency a node. */
static void large_broadcasts_take_as_long_on_many_nodes(void)
{
    static const int32_t nodes[] = {2, 16, 128};
    double large_s[3], small_s[3];
    for (int i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("dgx-h100:%d", nodes[i]);
        g_autoptr(RhPlatform) p = fitted(name);
        RhCollectiveBenchmark all = {
            .op = RH_OP_BROADCAST, .ranks = 8 * nodes[i], .nodes = nodes[i]};
        RhCollectivePoint large = rh_collective_point(&all, 256 * GIB, p);
        RhCollectivePoint small = rh_collective_point(&all, 8, p);
        large_s[i] = large.seconds;
        small_s[i] = small.seconds;
        double rate = fmin(p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value,
                           8 * p->nic_bytes_per_s.value * p->nic_efficiency_frac.value);
        CU_ASSERT_TRUE(large.seconds >= 256 * GIB / rate);
        rh_collective_point_clear(&large);
        rh_collective_point_clear(&small);
    }
    CU_ASSERT_TRUE(large_s[1] < 1.03 * large_s[0] && large_s[2] < 1.1 * large_s[0]);
    CU_ASSERT_TRUE(small_s[2] > 6 * small_s[1]);
}

/* Checks the bus bandwidth of an all-reduce of 8 GiB. */
static void check_rate(const char *platform, int32_t ranks, int32_t nodes, double bytes_per_s,
                       double off_frac)
{
    g_autoptr(RhPlatform) p = fitted(platform);
    RhCollectiveBenchmark benchmark = {.op = RH_OP_ALL_REDUCE, .ranks = ranks, .nodes = nodes};
    RhCollectivePoint point = rh_collective_point(&benchmark, 8 * GIB, p);
    double rate = rh_collective_bus_factor(benchmark.op, ranks) * 8 * GIB / point.seconds;
    RH_CHECK_CLOSE(rate, bytes_per_s, off_frac);
    rh_collective_point_clear(&point);
}

/* Source: NVIDIA/nccl-tests issues 347 (479 GB/s) and 290 (476 GB/s), 8 H100. */
static void a_node_of_h100s_reaches_its_published_rate(void)
{
    check_rate("dgx-h100", 8, 1, 477e9, 0.02);
}

/* Source: coreweave/nccl-tests pull 43, 835 to 847 GB/s on 72 GB200; the profile's efficiency of
 * in-switch sums was fitted to it. */
static void a_rack_of_gb200s_reaches_its_published_rate(void)
{
    check_rate("gb200-nvl72:1", 72, 1, 841e9, 0.01);
}

static double message_s(const RhPlatform *p, RhMessageBenchmark test, double bytes)
{
    int32_t ranks = test == RH_MESSAGES_SCATTER ? 2 * p->gpus_per_node : 2;
    RhCollectiveBenchmark benchmark = {
        .op = RH_OP_SHIFT, .ranks = ranks, .nodes = 2, .messages = test};
    RhCollectivePoint point = rh_collective_point(&benchmark, bytes, p);
    double seconds = point.seconds;
    CU_ASSERT_TRUE(seconds >= point.bound_s && point.bound_s > 0);
    rh_collective_point_clear(&point);
    return seconds;
}

/* Messages of the OSU micro-benchmarks (version 7.5: osu_latency halves there and back, osu_bw ends a window of 64
 * by an answer, one-sided ones are flushed), with t(n) = a + n / b of one message. */
static void messages_take_what_benchmarks_count(void)
{
    static const char *const platforms[] = {"frontera:2", "dgx-a100:2",
                                            "v100-sxm-32:4x2,eth:4Gb/s,nics:1"};
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        g_autoptr(RhPlatform) p = rh_platform_load(platforms[i], NULL);
        g_assert_nonnull(p);
        for (double bytes = 8; bytes < GIB; bytes *= 16) {
            double once = message_s(p, RH_MESSAGES_LATENCY, bytes),
                   least = message_s(p, RH_MESSAGES_LATENCY, 8),
                   window = message_s(p, RH_MESSAGES_BANDWIDTH, bytes);
            RH_CHECK_CLOSE(message_s(p, RH_MESSAGES_PUT, bytes), once + least, 1e-12);
            RH_CHECK_CLOSE(message_s(p, RH_MESSAGES_GET, bytes), once + least, 1e-12);
            CU_ASSERT_EQUAL(message_s(p, RH_MESSAGES_BIDIRECTIONAL, bytes), window);
            CU_ASSERT_TRUE(window <= once && 64 * window >= once + least);
            CU_ASSERT_TRUE(message_s(p, RH_MESSAGES_SCATTER, bytes) >=
                           once / (2 * p->gpus_per_node));
        }
        /* long messages reach the NIC's rate, both ways of a window twice it */
        double gib_s = message_s(p, RH_MESSAGES_BANDWIDTH, GIB);
        RH_CHECK_CLOSE(GIB / gib_s, p->nic_bytes_per_s.value * p->nic_efficiency_frac.value, 0.02);
        RhCollectiveBenchmark both = {
            .op = RH_OP_SHIFT, .ranks = 2, .nodes = 2, .messages = RH_MESSAGES_BIDIRECTIONAL};
        CU_ASSERT_EQUAL(rh_benchmark_bus_factor(&both), 2);
    }
}

/* A barrier among n ranks exchanges ceil(log2 n) rounds of nothing. */
static void a_barrier_takes_rounds_of_latency(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("frontera:64", NULL);
    double rounds[] = {1, 6}, seconds[2];
    for (int i = 0; i < 2; i++) {
        int32_t nodes = i == 0 ? 2 : 64;
        RhCollectiveBenchmark benchmark = {.op = RH_OP_BARRIER, .ranks = nodes, .nodes = nodes};
        RhCollectivePoint point = rh_collective_point(&benchmark, 8, p);
        seconds[i] = point.seconds - p->collective_launch_s.value;
        CU_ASSERT_EQUAL(point.bound_s, 0);
        rh_collective_point_clear(&point);
    }
    CU_ASSERT_TRUE(seconds[1] / seconds[0] > 0.9 * rounds[1] &&
                   seconds[1] / seconds[0] < 1.6 * rounds[1]);
}

/* Source: uccl-project/uccl issue 205, 350 GB/s on 64 H100. */
static void eight_nodes_of_h100s_reach_their_published_rate(void)
{
    check_rate("dgx-h100:8", 64, 8, 350e9, 0.07);
}

/* A call of a binding takes its time once in half a round trip and once in a collective; in a window it is hidden
 * where a message takes longer. */
static void calls_of_a_binding_take_their_time(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("frontera:2", NULL);
    static const struct {
        RhOp op;
        RhMessageBenchmark messages;
        double bytes;
        bool adds;
    } rows[] = {{RH_OP_SHIFT, RH_MESSAGES_LATENCY, 8, true},
                {RH_OP_SHIFT, RH_MESSAGES_BANDWIDTH, 4 << 20, false},
                {RH_OP_ALL_REDUCE, RH_MESSAGES_NONE, 1 << 20, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhCollectiveBenchmark plain = {
            .op = rows[i].op, .ranks = 2, .nodes = 2, .messages = rows[i].messages};
        RhCollectiveBenchmark bound = plain;
        bound.call_s = 1e-6;
        RhCollectivePoint a = rh_collective_point(&plain, rows[i].bytes, p),
                          b = rh_collective_point(&bound, rows[i].bytes, p);
        RH_CHECK_CLOSE(b.seconds, a.seconds + (rows[i].adds ? 1e-6 : 0), 1e-12);
        rh_collective_point_clear(&a);
        rh_collective_point_clear(&b);
    }
}

int main(void)
{
    return rh_test_main(
        "collective_curve",
        (RhTest[]){{"calls_of_a_binding_take_their_time", calls_of_a_binding_take_their_time},
                   {"bus_factors_are_those_of_nccl_tests", bus_factors_are_those_of_nccl_tests},
                   {"messages_take_what_benchmarks_count", messages_take_what_benchmarks_count},
                   {"a_barrier_takes_rounds_of_latency", a_barrier_takes_rounds_of_latency},
                   {"nothing_is_quicker_than_its_bound", nothing_is_quicker_than_its_bound},
                   {"large_broadcasts_take_as_long_on_many_nodes",
                    large_broadcasts_take_as_long_on_many_nodes},
                   {"a_node_of_h100s_reaches_its_published_rate",
                    a_node_of_h100s_reaches_its_published_rate},
                   {"a_rack_of_gb200s_reaches_its_published_rate",
                    a_rack_of_gb200s_reaches_its_published_rate},
                   {"eight_nodes_of_h100s_reach_their_published_rate",
                    eight_nodes_of_h100s_reach_their_published_rate},
                   {0}});
}
