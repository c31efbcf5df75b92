/* Protocols of a library: which one is taken, what it makes of time, and that all who read a program agree on it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/fabric/nccl_protocol.h"
#include "sim/collective/periodic_rank_reduction.h"
#include "strategies/software_stack.h"
#include "tests/kit/engine_kit.h"

#define RATE 450e9

static const char *const sets[][2] = {
    {"nvlink.ll.efficiency", "0.05"}, {"nvlink.ll.latency", "0.8us"},
    {"nvlink.ll.launch", "4us"},      {"nvlink.simple.efficiency", "0.8"},
    {"nvlink.simple.latency", "1us"}, {"nvlink.simple.launch", "18us"},
    {"nic.ll.efficiency", "0.3"},     {"nic.ll.latency", "3us"},
    {"nic.ll.launch", "5us"},         {"nic.simple.efficiency", "0.9"},
    {"nic.simple.latency", "12us"}};

static RhPlatform *with_protocols(const char *name)
{
    RhPlatform *p = rh_platform_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
        CU_ASSERT_TRUE(rh_platform_set(p, sets[i][0], sets[i][1], NULL));
    return p;
}

static double time_s(const RhPlatform *p, RhOp op, int32_t n, double bytes, RhAlgo *taken)
{
    g_autofree int32_t *gpus = g_new(int32_t, n);
    g_autofree int32_t *nodes = g_new(int32_t, n);
    for (int32_t i = 0; i < n; i++) {
        gpus[i] = i;
        nodes[i] = rh_platform_node_of(p, i);
    }
    *taken = rh_collective_choose(op, n, nodes, bytes, p, NULL);
    return rh_collective_alone_s(op, *taken, n, gpus, bytes, p);
}

/* launch + 7 (a + M/8 b) of each; below where the two cross the first, above it the other. */
static void the_choice_changes_where_two_lines_cross(void)
{
    g_autoptr(RhPlatform) p = with_protocols("h100-sxm:8x1,nvlink:450GB/s");
    double ll_s = 4e-6 + 7 * 0.8e-6, simple_s = 18e-6 + 7 * 1e-6, parts = 7.0 / 8 / RATE;
    double crossing = (simple_s - ll_s) / parts / (1 / 0.05 - 1 / 0.8);
    RhAlgo taken;
    RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_GATHER, 8, 0.999 * crossing, &taken),
                   ll_s + 0.999 * crossing * parts / 0.05, 1e-9);
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING_LL);
    RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_GATHER, 8, 1.001 * crossing, &taken),
                   simple_s + 1.001 * crossing * parts / 0.8, 1e-9);
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING_SIMPLE);
}

/* One chunk more for the member's own, whatever the steps; through the switch (1 + 1/n) M. */
static void a_ring_copies_its_own_chunk_and_a_switch_sums(void)
{
    g_autoptr(RhPlatform) p = with_protocols("h100-sxm:8x1,nvlink:450GB/s");
    RhAlgo taken;
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.copy", "0.6", NULL));
    for (int32_t n = 2; n <= 8; n++) {
        RH_CHECK_CLOSE(time_s(p, RH_OP_REDUCE_SCATTER, n, 1e9, &taken),
                       18e-6 + (n - 1) * 1e-6 + (n - 1 + 0.6) / n * 1e9 / 0.8 / RATE, 1e-9);
        RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_REDUCE, n, 1e9, &taken),
                       18e-6 + 2 * (n - 1) * 1e-6 + (2 * (n - 1) + 0.6) / n * 1e9 / 0.8 / RATE,
                       1e-9);
        CU_ASSERT_EQUAL(taken, RH_ALGO_RING_SIMPLE);
    }
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.nvls.efficiency", "0.7", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.nvls.latency", "30us", NULL));
    RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_REDUCE, 8, 1e9, &taken),
                   p->collective_launch_s.value + 2 * 30e-6 + 9.0 / 8 * 1e9 / 0.7 / RATE, 1e-9);
    CU_ASSERT_EQUAL(taken, RH_ALGO_NVLS);
    time_s(p, RH_OP_ALL_REDUCE, 2, 1e9, &taken); /* there (1 + 1/2) M is more than M */
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING_SIMPLE);
}

/* Up once and down once, whatever the nodes, so that an all-reduce has the rate of a message; a ring sends nearly
 * twice as much. Source: Graham et al., ISC 2020: 95 % of the network's bandwidth, and 2 to 5 times sums by hosts. */
static void switches_between_nodes_sum_at_the_rate_of_a_message(void)
{
    for (int32_t nodes = 4; nodes <= 64; nodes *= 4) {
        g_autofree char *name = g_strdup_printf("h100-sxm:1x%d,ib:200Gb/s,nics:1", nodes);
        g_autoptr(RhPlatform) p = rh_platform_load(name, NULL);
        RhAlgo taken;
        double ring_s = time_s(p, RH_OP_ALL_REDUCE, nodes, 1e9, &taken);
        CU_ASSERT_TRUE(rh_platform_set(p, "nic.sharp.efficiency", "0.95", NULL));
        double s = time_s(p, RH_OP_ALL_REDUCE, nodes, 1e9, &taken);
        CU_ASSERT_EQUAL(taken, RH_ALGO_SHARP);
        RH_CHECK_CLOSE(s, 1e9 / (0.95 * 25e9), 0.01);
        CU_ASSERT_TRUE(ring_s / s > 2.0 * (nodes - 1) / nodes && ring_s / s < 5);
        time_s(p, RH_OP_ALL_GATHER, nodes, 1e9, &taken);
        CU_ASSERT_NOT_EQUAL(taken, RH_ALGO_SHARP);
    }
}

/* Inside nodes the parts go round rings at the link's own rate; between nodes each member sends its part once. */
static void inside_nodes_links_keep_their_rate(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:8x16,nvlink:450GB/s,ib:400Gb/s", NULL);
    CU_ASSERT_TRUE(rh_platform_set(p, "nic.sharp.efficiency", "0.5", NULL));
    g_autofree int32_t *node_of = g_new(int32_t, 128);
    for (int32_t i = 0; i < 128; i++)
        node_of[i] = i / 8;
    double inside_s = 14 * (p->nvlink_latency_s.value +
                            1e9 / 8 / (p->nvlink_efficiency_frac.value * RATE)),
           between_s = 2 * p->nic_latency_s.value + 1e9 / 8 / (0.5 * 50e9);
    RH_CHECK_CLOSE(rh_collective_estimate_s(RH_OP_ALL_REDUCE, RH_ALGO_SHARP, 128, node_of, 1e9, p),
                   inside_s + between_s, 1e-9);
}

static void time_does_not_fall_as_sizes_grow(void)
{
    static const RhOp ops[] = {RH_OP_ALL_REDUCE, RH_OP_ALL_GATHER, RH_OP_REDUCE_SCATTER};
    g_autoptr(RhPlatform) p = with_protocols("dgx-h100:2");
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.nvls.efficiency", "0.7", NULL));
    uint32_t seen = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(ops); k++)
        for (int32_t n = 2; n <= 8; n++) {
            double before_s = 0;
            RhAlgo taken;
            for (double bytes = 16; bytes < 4e9; bytes *= 1.1) {
                double s = time_s(p, ops[k], n, bytes, &taken);
                CU_ASSERT_TRUE(s >= before_s);
                before_s = s;
                seen |= 1u << taken;
            }
        }
    CU_ASSERT_EQUAL(seen, 1u << RH_ALGO_RING_LL | 1u << RH_ALGO_RING_SIMPLE | 1u << RH_ALGO_NVLS);
}

/* The closed form, the steps as a schedule and the engine: inside a node, between nodes, and where groups share NICs. */
static void all_readers_take_the_same_time(void)
{
    static const struct {
        int32_t ranks, size, stride;
    } places[] = {{8, 8, 1}, {8, 4, 2}, {32, 4, 8}, {32, 32, 1}, {32, 16, 1}};
    static const RhAlgo algos[] = {RH_ALGO_RING_LL,     RH_ALGO_RING_SIMPLE, RH_ALGO_TREE_LL,
                                   RH_ALGO_TREE_SIMPLE, RH_ALGO_NVLS,        RH_ALGO_SHARP};
    g_autoptr(RhPlatform) p = with_protocols("h100-sxm:8x4,ib:400Gb/s,nics:4");
    CU_ASSERT_TRUE(rh_platform_set(p, "nic.sharp.efficiency", "0.5", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.nvls.efficiency", "0.7", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(algos); k++)
            for (double bytes = 1e4; bytes < 1e9; bytes *= 100) {
                g_autoptr(RhProgram) one =
                    kit_one_collective(places[i].ranks, places[i].size, places[i].stride,
                                       RH_OP_ALL_REDUCE, algos[k], bytes);
                RhCollectiveSpec call = {.op = RH_OP_ALL_REDUCE, .algo = algos[k], .bytes = bytes};
                RhScheduleTime time = rh_collective_time(one, p, 0, 0, &call);
                g_autofree int32_t *gpus = rh_group_gpus(one, 0, 0);
                g_autoptr(RhSchedule) s =
                    rh_schedule_of_task(one, rh_program_task(one, 0), p, gpus, NULL);
                double wanted_s = rh_schedule_time_s(s, one, p, 0, 0);
                RH_CHECK_CLOSE(time.fixed_s + time.moving_s, wanted_s, 1e-9);
                RH_CHECK_CLOSE(kit_time_s(one, p, (RhEngineOptions){0}), wanted_s, 1e-5);
            }
}

/* Bytes of the buffer are reported without what a slow protocol adds on the wire. */
static void bytes_of_the_buffer_are_told_as_they_are(void)
{
    g_autoptr(RhPlatform) p = with_protocols("h100-sxm:8x1,nvlink:450GB/s");
    int32_t gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    RhCollectiveSpec call = {.op = RH_OP_ALL_GATHER, .algo = RH_ALGO_RING_LL, .bytes = 8e6};
    g_autoptr(RhSchedule) ll = rh_schedule_on(&call, 8, p, gpus, NULL);
    RH_CHECK_CLOSE(rh_schedule_wire_bytes(ll), 7e6, 1e-12);
    CU_ASSERT_STRING_EQUAL(rh_algo_name(ll->algo), "ring-ll");
}

/* A platform without protocols has one line for all sizes; with a protocol for small sizes alone,
 * the line stands for the others. */
static void a_platform_without_them_has_its_line(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:8x1,nvlink:450GB/s", NULL);
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++)
        p->nvlink_protocols[i].efficiency_frac.value = 0;
    RhAlgo taken;
    time_s(p, RH_OP_ALL_GATHER, 8, 100, &taken);
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING);
    CU_ASSERT_FALSE(rh_protocols_any(p, false));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.ll.efficiency", "0.05", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.ll.launch", "1us", NULL));
    time_s(p, RH_OP_ALL_GATHER, 8, 100, &taken);
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING_LL);
    time_s(p, RH_OP_ALL_GATHER, 8, 1e9, &taken);
    CU_ASSERT_EQUAL(taken, RH_ALGO_RING);
}

/* Ranks that talk through a network stack use MPI, which has none of these: a platform that says some keeps every
 * choice, and its time. */
static void mpi_has_no_protocols(void)
{
    g_autoptr(RhPlatform) plain = rh_platform_load("lab-star", NULL);
    g_autoptr(RhPlatform) said = with_protocols("lab-star");
    for (int op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (double bytes = 100; bytes < 1e8; bytes *= 1000) {
            RhAlgo before, after;
            double before_s = time_s(plain, (RhOp)op, 8, bytes, &before);
            CU_ASSERT_EQUAL(time_s(said, (RhOp)op, 8, bytes, &after), before_s);
            CU_ASSERT_EQUAL(after, before);
            CU_ASSERT_NOT_EQUAL(after, RH_ALGO_NONE);
        }
}

/* A stack, or a user, that changes the link's line changes them in proportion; but for what the user said of them. */
static void protocols_follow_their_line(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:8x1,nvlink:450GB/s", NULL);
    RhProtocolFacts *simple = &p->nvlink_protocols[RH_PROTOCOL_SIMPLE];
    simple->efficiency_frac = (RhFact){.value = 0.8, .tag = RH_TAG_FITTED};
    simple->latency_s = (RhFact){.value = 2e-6, .tag = RH_TAG_FITTED};
    simple->launch_s = (RhFact){.value = 20e-6, .tag = RH_TAG_FITTED};
    double line = p->nvlink_efficiency_frac.value;
    RhStack half = *rh_stack_by_name("megatron", NULL);
    half.nvlink_training_frac.value = 0.5;
    g_autoptr(RhPlatform) trained = rh_stack_platform(&half, p);
    RH_CHECK_CLOSE(trained->nvlink_protocols[RH_PROTOCOL_SIMPLE].efficiency_frac.value, 0.4, 1e-12);
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.efficiency", "0.3", NULL));
    RH_CHECK_CLOSE(simple->efficiency_frac.value, 0.8 * 0.3 / line, 1e-12);
    CU_ASSERT_TRUE(rh_platform_set(p, "collective.launch", "0us", NULL));
    CU_ASSERT_EQUAL(simple->launch_s.value, 0);
    CU_ASSERT_TRUE(
        rh_platform_set(p, "collective.launch", "4us", NULL)); /* in no proportion to 0 */
    CU_ASSERT_EQUAL(simple->launch_s.value, 0);
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.simple.latency", "9us", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.latency", "50us", NULL));
    CU_ASSERT_EQUAL(simple->latency_s.value, 9e-6);
    CU_ASSERT_FALSE(rh_platform_set(p, "nvlink.simple.efficiency", "1.5", NULL));
}

int main(void)
{
    return rh_test_main(
        "protocol",
        (RhTest[]){
            {"the_choice_changes_where_two_lines_cross", the_choice_changes_where_two_lines_cross},
            {"a_ring_copies_its_own_chunk_and_a_switch_sums",
             a_ring_copies_its_own_chunk_and_a_switch_sums},
            {"switches_between_nodes_sum_at_the_rate_of_a_message",
             switches_between_nodes_sum_at_the_rate_of_a_message},
            {"inside_nodes_links_keep_their_rate", inside_nodes_links_keep_their_rate},
            {"time_does_not_fall_as_sizes_grow", time_does_not_fall_as_sizes_grow},
            {"all_readers_take_the_same_time", all_readers_take_the_same_time},
            {"bytes_of_the_buffer_are_told_as_they_are", bytes_of_the_buffer_are_told_as_they_are},
            {"a_platform_without_them_has_its_line", a_platform_without_them_has_its_line},
            {"mpi_has_no_protocols", mpi_has_no_protocols},
            {"protocols_follow_their_line", protocols_follow_their_line},
            {0}});
}
