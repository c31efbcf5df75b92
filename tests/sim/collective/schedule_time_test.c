/* Costs of schedules on idle links against closed forms, and the choice of algorithms. */
#include <math.h>
#include <string.h>

#include "tests/kit/collective_kit.h"

static RhProgram *one_group(int32_t n)
{
    RhProgram *p = rh_program_new(n);
    RhStride all = {1, n};
    rh_program_add_group(p, "all", &all, 1);
    rh_program_begin_role(p, "all", 0, &all, 1);
    rh_program_end_role(p);
    return p;
}

static void idle_time_equals_the_closed_form(void)
{
    static const int32_t sizes[] = {2, 3, 4, 5, 8, 13, 16, 31, 64};
    static const double bytes[] = {1e3, 1e6, 4e7, 1e9};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) star = rh_platform_load("h100-sxm:64x1,nvlink:450GB/s", &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(star);
    double alpha = star->nvlink_latency_s.value;
    double rate = star->nvlink_bytes_per_s.value * star->nvlink_efficiency_frac.value;
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(bytes); k++) {
                    int32_t n = sizes[i];
                    if (!rh_collective_supports(op, algo))
                        continue;
                    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, n, NULL, bytes[k], NULL);
                    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
                    g_autoptr(RhProgram) p = one_group(n);
                    double time =
                        rh_schedule_time_s(s, p, star, 0, 0) - star->collective_launch_s.value;
                    RH_CHECK_CLOSE(time,
                                   rh_collective_closed_form_s(op, algo, n, bytes[k], alpha, rate),
                                   1e-9);
                }
}

/* The estimate that algorithms are chosen by is the idle time where groups are regular: as many
 * members on every node, powers of two, a NIC each or one for two. */
static void estimates_over_nodes_equal_the_idle_time(void)
{
    static const char *const platforms[] = {"h100-sxm:8x4,nvlink:4500GB/s,ib:400Gb/s",
                                            "h100-sxm:8x8,nvlink:4500GB/s,ib:400Gb/s,nics:4",
                                            "h100-sxm:1x16,ib:400Gb/s"};
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        g_autoptr(RhPlatform) platform = rh_platform_load(platforms[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        for (int32_t t = 0; t < platform->tiers_count; t++)
            platform->tiers[t].hop_latency_s.value = 0; /* estimates leave them out */
        int32_t n = rh_platform_gpus(platform), nodes[64];
        g_autoptr(RhProgram) p = one_group(n);
        place(nodes, n, platform->gpus_per_node);
        for (RhAlgo algo = RH_ALGO_NONE + 1; algo < RH_ALGO_LAST; algo++)
            for (double bytes = 1e3; bytes < 1e10; bytes *= 100) {
                if (!rh_collective_supports(RH_OP_ALL_REDUCE, algo) || algo == RH_ALGO_TREE ||
                    rh_collective_plain(algo) != algo)
                    continue;
                g_autoptr(RhSchedule) s =
                    rh_schedule_new(RH_OP_ALL_REDUCE, algo, n, nodes, bytes, NULL);
                RH_CHECK_CLOSE(
                    rh_collective_estimate_s(RH_OP_ALL_REDUCE, algo, n, nodes, bytes, platform),
                    rh_schedule_time_s(s, p, platform, 0, 0) - platform->collective_launch_s.value,
                    1e-9);
            }
    }
}

/* Least bytes and steps an all-reduce can do with (Chan et al. 2007, table 1): no closed form may
 * be below either, but where a switch does the sums.
 * Source: Chan et al. 2007, table 1. */
static void no_all_reduce_beats_the_lower_bounds(void)
{
    for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
        for (int32_t n = 2;
             rh_collective_supports(RH_OP_ALL_REDUCE, algo) && algo < RH_ALGO_NVLS && n < 70; n++) {
            double bytes_only = rh_collective_closed_form_s(RH_OP_ALL_REDUCE, algo, n, 1e8, 0, 1e9);
            double steps_only =
                rh_collective_closed_form_s(RH_OP_ALL_REDUCE, algo, n, 1e3, 1, 1e300);
            CU_ASSERT_TRUE(bytes_only >= 0.2 * (n - 1) / n * (1 - 1e-12));
            CU_ASSERT_TRUE(steps_only >= ceil(log2(n)));
        }
}

/* Siblings share what they meet on: one group alone is faster than all of them, by as much as they
 * share a NIC. */
static void siblings_share_a_nic(void)
{
    g_autoptr(RhPlatform) two = rh_platform_load("h100-sxm:8x4,ib:400Gb/s,nics:2", NULL);
    g_autoptr(RhProgram) p = rh_program_new(32);
    RhStride nodes = {8, 4}, all = {1, 8};
    int32_t node_of[4] = {0, 1, 2, 3};
    rh_program_add_group(p, "rail", &nodes, 1);
    rh_program_begin_role(p, "all", 0, (RhStride[]){all, nodes}, 2);
    rh_program_end_role(p);
    static const int32_t roles[] = {-1, 0}; /* alone, and beside its siblings */
    double s_per_byte[2], sizes[] = {1e9, 2e9};
    for (int i = 0; i < 2; i++) {
        double times_s[2];
        for (int k = 0; k < 2; k++) {
            g_autoptr(RhSchedule) s =
                rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, 4, node_of, sizes[k], NULL);
            times_s[k] = rh_schedule_time_s(s, p, two, 0, roles[i]);
        }
        s_per_byte[i] = (times_s[1] - times_s[0]) / (sizes[1] - sizes[0]);
    }
    RH_CHECK_CLOSE(s_per_byte[1], 4 * s_per_byte[0], 1e-9);
}

/* One group of each placement in a node stands for all where links are alike; a link that is named
 * turns that off. */
static void groups_inside_nodes_need_one_of_a_kind(void)
{
    g_autoptr(RhPlatform) short_way = rh_platform_load("dgx-h100:16", NULL);
    g_autoptr(RhPlatform) long_way = rh_platform_load("dgx-h100:16", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(long_way);
    rh_platform_link_scale(long_way, 0, 1);
    for (int32_t size = 2; size <= 32; size *= 2)
        for (int32_t stride = 1; stride <= 2; stride++) {
            RhStride group = {stride, size}, all = {1, 128};
            g_autoptr(RhProgram) p = rh_program_new(128);
            rh_program_add_group(p, "g", &group, 1);
            rh_program_begin_role(p, "all", 0, &all, 1);
            rh_program_end_role(p);
            int32_t nodes[32];
            rh_group_members(rh_program_group(p, 0), 0, nodes);
            for (int32_t m = 0; m < size; m++)
                nodes[m] = rh_platform_node_of(short_way, nodes[m]);
            g_autoptr(RhSchedule) s =
                rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, size, nodes, 1e7, NULL);
            CU_ASSERT_EQUAL(rh_schedule_time_s(s, p, short_way, 0, 0),
                            rh_schedule_time_s(s, p, long_way, 0, 0));
        }
}

/* --- choosing --- */

/* The choice is made by closed forms that leave out the switches a route climbs: where ring and
 * tree break even, the one it takes may be slower by as much as those hops are of the whole. */
#define CHOICE_SLACK 0.02

/* Seconds as chosen, and by the other of ring and tree. */
static void check_choice(const RhPlatform *platform, int32_t n, int32_t stride, double bytes)
{
    g_autoptr(RhProgram) p = rh_program_new(rh_platform_gpus(platform));
    RhStride group = {stride, n}, all = {1, p->ranks_count};
    rh_program_add_group(p, "g", &group, 1);
    rh_program_begin_role(p, "all", 0, &all, 1);
    rh_program_end_role(p);
    g_autofree int32_t *nodes = g_new(int32_t, n);
    rh_group_members(rh_program_group(p, 0), 0, nodes);
    for (int32_t m = 0; m < n; m++)
        nodes[m] = rh_platform_node_of(platform, nodes[m]);
    g_autofree char *why = NULL;
    RhAlgo taken = rh_collective_choose(RH_OP_ALL_REDUCE, n, nodes, bytes, platform, &why);
    RhAlgo other = taken == RH_ALGO_RING ? RH_ALGO_TREE : RH_ALGO_RING;
    CU_ASSERT_TRUE(g_str_has_prefix(why, rh_algo_name(taken)));
    CU_ASSERT_EQUAL(rh_collective_choose(RH_OP_ALL_REDUCE, n, nodes, bytes, platform, NULL), taken);
    g_autoptr(RhSchedule) a = rh_schedule_new(RH_OP_ALL_REDUCE, taken, n, nodes, bytes, NULL);
    g_autoptr(RhSchedule) b = rh_schedule_new(RH_OP_ALL_REDUCE, other, n, nodes, bytes, NULL);
    double taken_s = rh_schedule_time_s(a, p, platform, 0, 0);
    double other_s = rh_schedule_time_s(b, p, platform, 0, 0);
    if (taken_s > (1 + CHOICE_SLACK) * other_s)
        fprintf(stderr, "    %d of stride %d, %g bytes: %s; ring or tree the other: %g s, %g s\n",
                n, stride, bytes, why, taken_s, other_s);
    CU_ASSERT_TRUE(taken_s <= (1 + CHOICE_SLACK) * other_s);
}

static void the_chosen_all_reduce_is_the_faster_one(void)
{
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:32", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    for (double bytes = 1e3; bytes < 2e9; bytes *= 4) {
        check_choice(platform, 32, 8, bytes);
        check_choice(platform, 16, 8, bytes);
        check_choice(platform, 64, 4, bytes);
        check_choice(platform, 64, 1, bytes);
        check_choice(platform, 256, 1, bytes);
    }
}

static double idle_s(const RhPlatform *platform, const RhProgram *p, RhAlgo algo,
                     const int32_t *nodes, double bytes)
{
    int32_t n = rh_program_group(p, 0)->size;
    g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_ALL_REDUCE, algo, n, nodes, bytes, NULL);
    return s ? rh_schedule_time_s(s, p, platform, 0, 0) : HUGE_VAL;
}

/* MPI takes the fastest all-reduce except NCCL's tree, or nearly, also where a switch's way up is
 * thin. */
static void mpi_takes_what_is_fast_on_its_network(void)
{
    static const char *const platforms[] = {"lab-star", "lab-tree:16", "lab-2x4:4", "lab-star:6"};
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        g_autoptr(RhPlatform) platform = rh_platform_load(platforms[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        int32_t n = rh_platform_gpus(platform), nodes[16];
        g_autoptr(RhProgram) p = one_group(n);
        place(nodes, n, platform->gpus_per_node);
        for (double bytes = 100; bytes < 1e8; bytes *= 10) {
            RhAlgo taken = rh_collective_choose(RH_OP_ALL_REDUCE, n, nodes, bytes, platform, NULL);
            double taken_s = idle_s(platform, p, taken, nodes, bytes);
            CU_ASSERT_NOT_EQUAL(taken, RH_ALGO_TREE);
            for (RhAlgo algo = RH_ALGO_NONE + 1; algo < RH_ALGO_LAST; algo++)
                if (rh_collective_supports(RH_OP_ALL_REDUCE, algo) && algo != RH_ALGO_TREE &&
                    algo != RH_ALGO_HIERARCHICAL && algo != RH_ALGO_SHARP &&
                    rh_collective_plain(algo) == algo)
                    CU_ASSERT_TRUE(taken_s <=
                                   (1 + CHOICE_SLACK) * idle_s(platform, p, algo, nodes, bytes));
        }
    }
}

static void small_all_reduces_take_the_tree_and_large_ones_the_ring(void)
{
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:16", NULL);
    int32_t apart[16], uneven[3] = {0, 0, 1};
    place(apart, 16, 1);
    CU_ASSERT_EQUAL(rh_collective_choose(RH_OP_ALL_REDUCE, 16, apart, 1e4, platform, NULL),
                    RH_ALGO_TREE);
    CU_ASSERT_EQUAL(rh_collective_choose(RH_OP_ALL_REDUCE, 16, apart, 1e9, platform, NULL),
                    RH_ALGO_RING);
    /* two nodes, not one and a half */
    g_autofree char *why = NULL;
    rh_collective_choose(RH_OP_ALL_REDUCE, 3, uneven, 1e9, platform, &why);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "2 nodes"));
}

static void every_operation_has_a_choice_that_exists(void)
{
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:16", NULL);
    static const int32_t per_node[] = {1, 2, 8, 100, -1, -2};
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (int32_t n = 1; n <= 17; n++)
            for (size_t k = 0; k < G_N_ELEMENTS(per_node); k++)
                for (double bytes = 0; bytes < 1e10; bytes = bytes * 1000 + 1) {
                    int32_t nodes[17];
                    place(nodes, n, per_node[k]);
                    RhAlgo algo = rh_collective_choose(op, n, nodes, bytes, platform, NULL);
                    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, n, nodes, bytes, NULL);
                    CU_ASSERT_PTR_NOT_NULL(s);
                }
}

static void more_members_per_node_use_more_nics(void)
{
    g_autoptr(RhPlatform) p8 = rh_platform_load("h100-sxm:8x4,nvlink:4500GB/s,ib:400Gb/s", NULL);
    g_autoptr(RhProgram) wide = one_group(32);
    RhProgram *narrow = rh_program_new(32);
    RhStride nodes = {8, 4}, all = {1, 8};
    rh_program_add_group(narrow, "rail", &nodes, 1);
    rh_program_begin_role(narrow, "all", 0, (RhStride[]){all, nodes}, 2);
    rh_program_end_role(narrow);
    int32_t node_of[32], rail_of[4] = {0, 1, 2, 3};
    for (int i = 0; i < 32; i++)
        node_of[i] = i / 8;
    g_autoptr(RhSchedule) eight =
        rh_schedule_new(RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 32, node_of, 32e9, NULL);
    g_autoptr(RhSchedule) one =
        rh_schedule_new(RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 4, rail_of, 4e9, NULL);
    double t_eight = rh_schedule_time_s(eight, wide, p8, 0, 0),
           t_one = rh_schedule_time_s(one, narrow, p8, 0, 0);
    /* The same bytes leave every NIC: 31/32 x 32 GB over 8 NICs against 3/4 x 4 GB over one. */
    RH_CHECK_CLOSE(t_eight / t_one, (31.0 / 32 * 4) / (3.0 / 4 * 4), 1e-2);
    rh_program_free(narrow);
}

int main(void)
{
    return rh_test_main(
        "collective_time",
        (RhTest[]){
            {"idle_time_equals_the_closed_form", idle_time_equals_the_closed_form},
            {"estimates_over_nodes_equal_the_idle_time", estimates_over_nodes_equal_the_idle_time},
            {"no_all_reduce_beats_the_lower_bounds", no_all_reduce_beats_the_lower_bounds},
            {"groups_inside_nodes_need_one_of_a_kind", groups_inside_nodes_need_one_of_a_kind},
            {"siblings_share_a_nic", siblings_share_a_nic},
            {"the_chosen_all_reduce_is_the_faster_one", the_chosen_all_reduce_is_the_faster_one},
            {"mpi_takes_what_is_fast_on_its_network", mpi_takes_what_is_fast_on_its_network},
            {"small_all_reduces_take_the_tree_and_large_ones_the_ring",
             small_all_reduces_take_the_tree_and_large_ones_the_ring},
            {"every_operation_has_a_choice_that_exists", every_operation_has_a_choice_that_exists},
            {"more_members_per_node_use_more_nics", more_members_per_node_use_more_nics},
            {0}});
}
