#include "tests/kit/engine_kit.h"

#include "sim/engine/folded_network.h"
#include "sim/engine/jitter_expected_delay.h"
#include "sim/engine/program_flows.h"
#include "sim/engine/symmetry_fold.h"

static const RhEngineOptions folded = {0};
static const RhEngineOptions unfolded = {.unfolded = true};

/* The exposed-communication terms of the step: mean over ranks. */
static void mean_waits(const RhRun *run, double wait_s[RH_WAIT_LAST])
{
    int64_t ranks = 0;
    memset(wait_s, 0, sizeof(double) * RH_WAIT_LAST);
    for (uint32_t i = 0; i < run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, i);
        ranks += performer->ranks_count;
        for (int k = 0; k < RH_WAIT_LAST; k++)
            wait_s[k] += performer->wait_s[k] * performer->ranks_count;
    }
    for (int k = 0; k < RH_WAIT_LAST; k++)
        wait_s[k] /= (double)ranks;
}

/* Folded and not agree: 0.1 % on the step, 1 % on each term. Returns the folded performers. */
static uint32_t check_agrees(const char *what, const RhProgram *p, const RhPlatform *platform)
{
    g_autoptr(RhRun) few = kit_run(p, platform, folded);
    g_autoptr(RhRun) all = kit_run(p, platform, unfolded);
    CU_ASSERT_EQUAL(all->performers->len, (uint32_t)p->ranks_count);
    CU_ASSERT_FALSE(few->approximate);
    RH_CHECK_CLOSE(few->bytes_total, all->bytes_total, 1e-9);
    bool step_agrees = rh_test_close(few->step_time_s, all->step_time_s, 1e-3);
    double few_s[RH_WAIT_LAST], all_s[RH_WAIT_LAST];
    mean_waits(few, few_s);
    mean_waits(all, all_s);
    for (int k = 0; k < RH_WAIT_LAST; k++) {
        bool agrees = fabs(few_s[k] - all_s[k]) <= MAX(0.01 * all_s[k], 1e-6 * all->step_time_s);
        if (!agrees)
            fprintf(stderr, "    %s: %s %.9g folded, %.9g unfolded\n", what,
                    rh_wait_name((RhWait)k), few_s[k], all_s[k]);
        CU_ASSERT_TRUE(agrees);
    }
    if (!step_agrees)
        fprintf(stderr, "    %s: step %.9g folded, %.9g unfolded\n", what, few->step_time_s,
                all->step_time_s);
    CU_ASSERT_TRUE(step_agrees);
    return few->performers->len;
}

static const KitStep base_step = {.tp = 2,
                                  .dp = 4,
                                  .pp = 4,
                                  .microbatches = 6,
                                  .layers = 2,
                                  .tp_algo = RH_ALGO_RING,
                                  .dp_algo = RH_ALGO_RING,
                                  .kernel_s = 5e-4,
                                  .tp_bytes = 2e7,
                                  .dp_bytes = 2e8,
                                  .message_bytes = 3e7,
                                  .uneven_s = 2e-5};

static void a_uniform_job_folds_to_its_roles(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    KitStep k = base_step;
    k.tp = 8, k.dp = 4, k.pp = 1;
    g_autoptr(RhProgram) p = kit_step(k);
    CU_ASSERT_EQUAL(check_agrees("uniform", p, platform), 1);
}

static void pipeline_messages_and_gradients_share_a_nic(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s,nics:1");
    g_autoptr(RhProgram) outside = kit_step(base_step);
    check_agrees("stages over nodes", outside, platform);
    KitStep k = base_step;
    k.stages_inside = true;
    g_autoptr(RhProgram) inside = kit_step(k);
    check_agrees("stages in a node share its NIC", inside, platform);
}

static void rings_that_cross_pods(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x8,ib:400Gb/s,leaf:4,oversub:7");
    KitStep k = base_step;
    k.tp = 8, k.dp = 8, k.pp = 1, k.dp_bytes = 1e9;
    g_autoptr(RhProgram) p = kit_step(k);
    uint32_t performers = check_agrees("rings crossing pods", p, platform);
    CU_ASSERT_EQUAL(performers, 1); /* the ranks at the edges have other flows, not other times */
    k.tp = 4, k.dp = 4, k.pp = 4;
    g_autoptr(RhProgram) cut = kit_step(k);
    check_agrees("stages and rings crossing pods", cut, platform);
}

static void leaders_of_hierarchical_collectives(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s,nics:2");
    KitStep k = base_step;
    k.tp = 1, k.dp = 32, k.pp = 1, k.dp_algo = RH_ALGO_HIERARCHICAL;
    g_autoptr(RhProgram) p = kit_step(k);
    check_agrees("hierarchical", p, platform);
    k.dp_algo = RH_ALGO_TREE;
    g_autoptr(RhProgram) tree = kit_step(k);
    check_agrees("tree", tree, platform);
}

static void every_algorithm_over_odd_groups(void)
{
    static const RhAlgo algos[] = {
        RH_ALGO_RING,         RH_ALGO_TREE,         RH_ALGO_RECURSIVE_DOUBLING,
        RH_ALGO_RABENSEIFNER, RH_ALGO_HIERARCHICAL, RH_ALGO_MULTI_LEADER};
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x6,ib:400Gb/s,leaf:2,oversub:2");
    for (size_t i = 0; i < G_N_ELEMENTS(algos); i++) {
        KitStep k = base_step;
        k.tp = 2, k.dp = 6, k.pp = 3, k.dp_algo = algos[i];
        g_autoptr(RhProgram) p = kit_step(k);
        kit_settle(p, platform);
        check_agrees(rh_algo_name(algos[i]), p, platform);
        k.stages_inside = true;
        g_autoptr(RhProgram) inside = kit_step(k);
        kit_settle(inside, platform);
        check_agrees(rh_algo_name(algos[i]), inside, platform);
    }
}

static void groups_that_straddle_nodes(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x6,ib:400Gb/s");
    KitStep k = base_step;
    k.tp = 6, k.dp = 4, k.pp = 2; /* some shards of six lie on two nodes */
    g_autoptr(RhProgram) p = kit_step(k);
    check_agrees("straddling", p, platform);
}

static void groups_across_stages(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s,nics:2");
    for (int i = 0; i < 4; i++) {
        KitStep k = base_step;
        k.stages_inside = i % 2, k.shared_bytes = 3e8;
        if (i >= 2)
            k.pp = 2, k.dp = 8;
        g_autoptr(RhProgram) p = kit_step(k);
        CU_ASSERT_TRUE(rh_program_check(p, NULL));
        check_agrees("first and last stage share a matrix", p, platform);
    }
}

/* Meshes and islands inside nodes, tensor groups within and across them; a torus; one GPU in five passed by. */
static void islands_and_tori(void)
{
    static const struct {
        const char *platform;
        int32_t tp, dp, pp;
    } rows[] = {{"summit:4", 2, 6, 2},   {"summit:4", 3, 4, 2},    {"frontier:4", 2, 8, 2},
                {"frontier:4", 4, 4, 2}, {"pcie-gen4:4", 8, 2, 2}, {"tpu-v5p", 2, 16, 2},
                {"tpu-v5p", 4, 5, 2},    {"dgx-1:4", 2, 8, 2},     {"dgx-1:4", 4, 4, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhPlatform) platform = kit_platform(rows[i].platform);
        KitStep k = base_step;
        k.tp = rows[i].tp, k.dp = rows[i].dp, k.pp = rows[i].pp;
        g_autoptr(RhProgram) p = kit_step(k);
        check_agrees(rows[i].platform, p, platform);
    }
}

/* A GPU at 80 % takes 1 / 0.8 as long for its kernels, and those who meet it wait so much longer. */
static void a_slow_gpu_holds_up_who_meets_it(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    g_autoptr(GError) error = NULL;
    RhProgram *lone = rh_program_new(16);
    RhStride all[] = {{1, 16}};
    int32_t group = rh_program_add_group(lone, "dp", all, 1);
    rh_program_begin_role(lone, "all", 0, all, 1);
    int32_t wait = kit_wait(lone, 1, NULL, 0);
    kit_collective(lone, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e8, wait);
    rh_program_end_role(lone);
    g_autoptr(RhProgram) p = lone;
    double even_s = kit_time_s(p, platform, folded);
    CU_ASSERT_TRUE(rh_platform_set(platform, "gpu.5.speed", "0.5", NULL));
    CU_ASSERT_TRUE(rh_platform_set(platform, "gpu.5.speed", "80%", NULL)); /* replaces */
    RH_CHECK_CLOSE(kit_time_s(p, platform, folded), even_s + 0.25, 1e-9);
    RH_CHECK_CLOSE(kit_time_s(p, platform, unfolded), even_s + 0.25, 1e-9);
    for (int32_t gpu = 0; gpu < 32; gpu++) /* at a tenth more than its pace, but for one */
        rh_platform_gpu_slow(platform, gpu, gpu == 5 ? 1.045 : 1.1);
    RH_CHECK_CLOSE(kit_time_s(p, platform, folded), even_s - 1 + 1 / 1.045, 1e-9);
    RH_CHECK_CLOSE(kit_time_s(p, platform, unfolded), even_s - 1 + 1 / 1.045, 1e-9);
    for (int32_t gpu = 31; gpu >= 0; gpu--) /* in any order; the last word counts */
        rh_platform_gpu_slow(platform, gpu, gpu == 5 ? 0.8 : 1);
    RH_CHECK_CLOSE(rh_platform_gpu_speed(platform, 5), 0.8, 0);
    for (int i = 0; i < 3; i++) {
        KitStep k = base_step;
        k.tp = 2 << i, k.dp = 4 >> (i > 1), k.pp = 16 / k.tp * 2 / k.dp;
        g_autoptr(RhProgram) step = kit_step(k);
        check_agrees("one slow GPU", step, platform);
    }
    static const char *const wrong[][2] = {{"gpu.32.speed", "0.5"}, {"gpu.1.speed", "1.5"},
                                           {"gpu.1.speed", "0"},    {"gpu.1.sped", "0.5"},
                                           {"gpu.x.speed", "0.5"},  {"nodes", "3"}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_clear_error(&error);
        CU_ASSERT_FALSE(rh_platform_set(platform, wrong[i][0], wrong[i][1], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

static void a_slow_link_is_a_colour_of_its_own(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(platform, 3, 11, links);
    rh_platform_link_scale(platform, links[count / 2], 0.5);
    g_autoptr(RhProgram) p = kit_step(base_step);
    check_agrees("one slow link", p, platform);
}

static void a_shuffled_placement_agrees_too(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s,nics:2");
    g_autoptr(RhProgram) p = kit_step(base_step);
    p->gpu_of_rank = g_new(int32_t, p->ranks_count);
    for (int32_t i = 0; i < p->ranks_count; i++)
        p->gpu_of_rank[i] = i * 5 % p->ranks_count;
    check_agrees("shuffled", p, platform);
}

static void random_steps_agree_folded_and_unfolded(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < 24; i++) {
        g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[i % 4]);
        g_autoptr(RhProgram) p = kit_step(kit_draw(rng));
        if (i % 4 == 3)
            kit_shuffle(p, rng);
        kit_settle(p, platform);
        g_autofree char *what = g_strdup_printf("random step %d", i);
        check_agrees(what, p, platform);
    }
    gsl_rng_free(rng);
}

/* A link of its old capacity is a change: nothing is left out then. */
static void links_that_hold_nobody_back_may_be_left_out(void)
{
    static const char *const fabrics[] = {
        "h100-sxm:8x16,ib:400Gb/s,leaf:2", "h100-sxm:8x16,ib:200Gb/s,leaf:4,oversub:2",
        "h100-sxm:8x16,ib:400Gb/s,leaf:3,oversub:4,rail", "h100-sxm:4x32,ib:400Gb/s,nics:2,leaf:4"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < 24; i++) {
        g_autoptr(RhPlatform) platform = kit_platform(fabrics[i % 4]);
        g_autoptr(RhPlatform) changed = kit_platform(fabrics[i % 4]);
        g_autoptr(RhProgram) p = kit_step(kit_draw(rng));
        kit_settle(p, platform);
        rh_platform_link_scale(changed, 0, 1);
        RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){0}),
                       kit_time_s(p, changed, (RhEngineOptions){0}), 1e-6);
    }
    gsl_rng_free(rng);
}

/* Stages of whole leaves, rings from node to node: ranks differ in whether a step of a ring leaves their
 * leaf, which no rank can tell. */
static void ranks_of_a_stage_are_alike_where_no_link_tells_them_apart(void)
{
    static const struct {
        const char *fabric;
        int32_t colours;
    } rows[] = {{"h100-sxm:8x32,ib:400Gb/s,leaf:2", 4},
                {"h100-sxm:8x32,ib:400Gb/s,leaf:8,oversub:7", 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhPlatform) platform = kit_platform(rows[i].fabric);
        KitStep k = base_step;
        k.tp = 8, k.dp = 8, k.pp = 4;
        g_autoptr(RhProgram) p = kit_step(k);
        g_autoptr(RhTraffic) traffic =
            rh_traffic_new(p, platform, false, NULL, rh_deadline_in(0), NULL);
        g_autoptr(RhFold) fold = rh_fold_new(traffic, false, NULL);
        CU_ASSERT_EQUAL(fold->colours_count, rows[i].colours);
    }
}

/* Scales the uplink of the leaf that a route between nodes crosses. */
static void halve_uplink(RhPlatform *platform, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(platform, src, dst, links);
    for (int i = 0; i < count; i++) {
        g_autofree char *name = rh_platform_link_name(platform, links[i]);
        if (g_str_has_prefix(name, "leaf/") && g_str_has_suffix(name, "/up"))
            rh_platform_link_scale(platform, links[i], 0.5);
    }
}

static void half_an_uplink_slows_only_those_who_cross_it(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x8,ib:400Gb/s,leaf:4,oversub:4");
    g_autoptr(RhProgram) crossing =
        kit_one_collective(64, 8, 8, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e9);
    g_autoptr(RhProgram) local = kit_one_collective(64, 4, 8, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e9);
    double crossing_s = kit_time_s(crossing, platform, folded);
    double local_s = kit_time_s(local, platform, folded);
    halve_uplink(platform, 0, 32);
    RH_CHECK_CLOSE(kit_time_s(crossing, platform, folded), 2 * crossing_s, 0.01);
    RH_CHECK_CLOSE(kit_time_s(local, platform, folded), local_s, 1e-9);
}

static void too_many_ranks_to_unfold_are_refused(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x256,ib:400Gb/s");
    g_autoptr(RhProgram) p = kit_one_collective(2048, 8, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e6);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(p, platform, &unfolded, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
}

/* 2,048 NICs, each with a speed of its own. */
static RhPlatform *uneven_platform(void)
{
    RhPlatform *platform = kit_platform("h100-sxm:8x256,ib:400Gb/s");
    for (int32_t gpu = 0; gpu < 2048; gpu++) {
        RhLink links[RH_ROUTE_MAX];
        int count = rh_platform_route(platform, gpu, (gpu + 8) % 2048, links);
        for (int i = 0; i < count; i++) {
            g_autofree char *name = rh_platform_link_name(platform, links[i]);
            if (g_str_has_suffix(name, "/tx"))
                rh_platform_link_scale(platform, links[i], 1 - gpu * 1e-4);
        }
    }
    return platform;
}

/* Members of a ring end together, however uneven its links: the group is one colour. */
static void uneven_links_of_a_ring_need_no_more_performers(void)
{
    g_autoptr(RhPlatform) platform = uneven_platform();
    g_autoptr(RhProgram) p = kit_one_collective(2048, 2048, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e8);
    g_autoptr(RhRun) run = kit_run(p, platform, folded);
    CU_ASSERT_FALSE(run->approximate);
    CU_ASSERT_EQUAL(run->performers->len, 1);
}

static void too_many_colours_are_merged_and_said_so(void)
{
    g_autoptr(RhPlatform) platform = uneven_platform();
    g_autoptr(RhProgram) p = kit_messages(2048, 1024, 1024, 1e8);
    g_autoptr(RhRun) run = kit_run(p, platform, folded);
    CU_ASSERT_TRUE(run->approximate);
    CU_ASSERT_PTR_NOT_NULL(run->approximate_why);
    CU_ASSERT_TRUE(run->performers->len <= RH_FOLD_COLOURS_MAX);
    double alpha_s = rh_platform_route_latency_s(platform, 1023, 2047);
    RhLink links[RH_ROUTE_MAX];
    double bytes_per_s = HUGE_VAL;
    for (int i = rh_platform_route(platform, 1023, 2047, links); i-- > 0;)
        bytes_per_s = MIN(bytes_per_s, rh_platform_link_bytes_per_s(platform, links[i]));
    RH_CHECK_CLOSE(run->step_time_s, alpha_s + 1e8 / bytes_per_s, 1e-6); /* the slowest stands */
}

/* Every place in a tree meets its messages otherwise: 64 places in 16 stages are too many. */
static void merged_trees_stay_above_their_bound(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x1024,ib:400Gb/s");
    KitStep k = base_step;
    k.tp = 8, k.dp = 64, k.pp = 16, k.layers = 1, k.microbatches = 2, k.dp_algo = RH_ALGO_TREE;
    g_autoptr(RhProgram) p = kit_step(k);
    double dry_s = 0;
    CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
    g_autoptr(RhRun) run = kit_run(p, platform, folded);
    CU_ASSERT_TRUE(run->approximate);
    CU_ASSERT_EQUAL(run->performers->len, 16);
    CU_ASSERT_TRUE(run->step_time_s >= dry_s * (1 - 1e-9));
    CU_ASSERT_TRUE(run->step_time_s <= dry_s * 1.3);
}

static void a_large_job_folds_quickly(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2048,ib:400Gb/s,leaf:384,oversub:7");
    KitStep k = base_step;
    k.tp = 8, k.dp = 128, k.pp = 16, k.microbatches = 2;
    g_autoptr(RhProgram) p = kit_step(k);
    int64_t start_us = g_get_monotonic_time();
    g_autoptr(RhTraffic) traffic =
        rh_traffic_new(p, platform, false, NULL, rh_deadline_in(0), NULL);
    g_autoptr(RhFold) fold = rh_fold_new(traffic, false, NULL);
    double took_s = (double)(g_get_monotonic_time() - start_us) * 1e-6;
    CU_ASSERT_TRUE(fold->colours_count >= 16 && fold->colours_count <= RH_FOLD_COLOURS_MAX);
    CU_ASSERT_PTR_NULL(fold->approximate_why);
    CU_ASSERT_TRUE(took_s < 5); /* with sanitizers; the benchmark holds the real bar */
}

/* Checks that colours, classes and weights are equal whether ranks of a block are listed once or
 * each. */
static void check_blocks(const char *fabric, KitStep k, int32_t block)
{
    g_autoptr(RhPlatform) platform = kit_platform(fabric);
    g_autoptr(RhProgram) p = kit_step(k);
    g_autoptr(RhTraffic) once = rh_traffic_new(p, platform, false, NULL, rh_deadline_in(0), NULL);
    g_autoptr(RhTraffic) each = rh_traffic_new(p, platform, true, NULL, rh_deadline_in(0), NULL);
    CU_ASSERT_EQUAL(once->block, block);
    CU_ASSERT_EQUAL(once->flows->len * (uint32_t)block, each->flows->len);
    g_autoptr(RhFold) a = rh_fold_new(once, false, NULL);
    g_autoptr(RhFold) b = rh_fold_new(each, false, NULL);
    CU_ASSERT_EQUAL_FATAL(a->colours_count, b->colours_count);
    CU_ASSERT_EQUAL(
        memcmp(a->colour_of_rank, b->colour_of_rank, sizeof(int32_t) * (size_t)p->ranks_count), 0);
    CU_ASSERT_EQUAL(
        memcmp(a->ranks_count, b->ranks_count, sizeof(int32_t) * (size_t)a->colours_count), 0);
    g_autoptr(RhFoldedNetwork) few = rh_folded_network_new(once, a);
    g_autoptr(RhFoldedNetwork) all = rh_folded_network_new(each, b);
    CU_ASSERT_EQUAL_FATAL(few->classes->len, all->classes->len);
    for (uint32_t i = 0; i < few->classes->len; i++)
        RH_CHECK_CLOSE(g_array_index(few->classes, RhFlowClass, i).flows_count,
                       g_array_index(all->classes, RhFlowClass, i).flows_count, 1e-12);
    CU_ASSERT_EQUAL_FATAL(few->hops->len, all->hops->len);
    for (uint32_t i = 0; i < few->hops->len; i++)
        CU_ASSERT_EQUAL(memcmp(&g_array_index(few->hops, RhBridgeHop, i),
                               &g_array_index(all->hops, RhBridgeHop, i), sizeof(RhBridgeHop)),
                        0);
}

static void blocks_listed_once_fold_as_each_rank_would(void)
{
    KitStep k = base_step;
    k.tp = 4, k.dp = 8, k.pp = 2;
    check_blocks("h100-sxm:8x8,ib:400Gb/s,leaf:3,oversub:2", k, 4);
    check_blocks("h100-sxm:8x8,ib:400Gb/s,leaf:3,oversub:2,rail", k, 4);
    check_blocks("h100-sxm:8x8,ib:400Gb/s,nics:2", k, 4);
    check_blocks("h100-sxm:8x8,ib:400Gb/s,nics:4", k, 1); /* two of a block share a NIC */
    check_blocks("pcie-gen4:8", k, 4);                    /* islands of four, two NICs */
    check_blocks("mi300x:8", k, 4);
    check_blocks("frontier:8", k, 1); /* islands of two */
    k.stages_inside = true;
    check_blocks("h100-sxm:8x8,ib:400Gb/s,leaf:3,oversub:2", k, 4);
    k.dp_algo = RH_ALGO_TREE;
    check_blocks("h100-sxm:8x8,ib:400Gb/s,leaf:3,oversub:2", k, 4);
    k.tp_algo = RH_ALGO_TREE; /* has a root */
    check_blocks("h100-sxm:8x8,ib:400Gb/s,leaf:3,oversub:2", k, 1);
}

/* Merged ranks are those of the program, and every link stands for itself. */
static void blocks_merge_as_each_rank_would(void)
{
    KitStep k = base_step;
    k.tp = 8, k.dp = 64, k.pp = 16, k.layers = 1, k.microbatches = 2, k.dp_algo = RH_ALGO_TREE;
    check_blocks("h100-sxm:8x1024,ib:400Gb/s", k, 8);
}

static void check_jitter(const char *what, const RhProgram *p, const RhPlatform *platform)
{
    double mean_s = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        RhEngineOptions options = {.unfolded = true, .jitter_frac = 0.05, .seed = seed};
        mean_s += kit_time_s(p, platform, options) / 20;
    }
    RhEngineOptions options = {.jitter_frac = 0.05};
    g_autoptr(RhRun) run = kit_run(p, platform, options);
    double plain_s = kit_time_s(p, platform, folded);
    RH_CHECK_CLOSE(run->step_time_s - run->jitter_correction_s, plain_s, 1e-9);
    CU_ASSERT_TRUE(run->jitter_correction_s > 0);
    bool near = rh_test_close(run->step_time_s, mean_s, 0.02);
    if (!near)
        fprintf(stderr, "    %s: plain %.6f, corrected %.6f, mean of seeds %.6f\n", what, plain_s,
                run->step_time_s, mean_s);
    CU_ASSERT_TRUE(near);
}

static void folded_jitter_is_near_the_mean_of_unfolded_seeds(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x8,ib:400Gb/s");
    KitStep k = base_step;
    k.tp = 8, k.dp = 8, k.pp = 1;
    g_autoptr(RhProgram) shards = kit_step(k);
    check_jitter("tp 8, dp 8", shards, platform);
    k.tp = 1, k.dp = 64;
    g_autoptr(RhProgram) replicas = kit_step(k);
    check_jitter("dp 64", replicas, platform);
    k.tp = 4, k.dp = 4, k.pp = 4;
    g_autoptr(RhProgram) all = kit_step(k);
    check_jitter("tp 4, dp 4, pp 4", all, platform);
    k.tp = 1, k.dp = 8, k.pp = 8, k.microbatches = 16;
    g_autoptr(RhProgram) stages = kit_step(k);
    check_jitter("dp 8, pp 8", stages, platform);
    k.dp = 4, k.pp = 4, k.microbatches = 4, k.shared_bytes = 1e8;
    g_autoptr(RhProgram) across = kit_step(k);
    check_jitter("a matrix of two stages", across, platform);
}

static void the_same_seed_gives_the_same_run(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    g_autoptr(RhProgram) p = kit_step(base_step);
    RhEngineOptions options = {.unfolded = true, .jitter_frac = 0.05, .seed = 9};
    double first_s = kit_time_s(p, platform, options);
    CU_ASSERT_EQUAL(first_s, kit_time_s(p, platform, options));
    options.seed = 10;
    CU_ASSERT_NOT_EQUAL(first_s, kit_time_s(p, platform, options));
}

int main(void)
{
    return rh_test_main(
        "fold",
        (RhTest[]){
            {"a_uniform_job_folds_to_its_roles", a_uniform_job_folds_to_its_roles},
            {"pipeline_messages_and_gradients_share_a_nic",
             pipeline_messages_and_gradients_share_a_nic},
            {"rings_that_cross_pods", rings_that_cross_pods},
            {"leaders_of_hierarchical_collectives", leaders_of_hierarchical_collectives},
            {"every_algorithm_over_odd_groups", every_algorithm_over_odd_groups},
            {"groups_that_straddle_nodes", groups_that_straddle_nodes},
            {"groups_across_stages", groups_across_stages},
            {"islands_and_tori", islands_and_tori},
            {"a_slow_gpu_holds_up_who_meets_it", a_slow_gpu_holds_up_who_meets_it},
            {"a_slow_link_is_a_colour_of_its_own", a_slow_link_is_a_colour_of_its_own},
            {"a_shuffled_placement_agrees_too", a_shuffled_placement_agrees_too},
            {"random_steps_agree_folded_and_unfolded", random_steps_agree_folded_and_unfolded},
            {"links_that_hold_nobody_back_may_be_left_out",
             links_that_hold_nobody_back_may_be_left_out},
            {"ranks_of_a_stage_are_alike_where_no_link_tells_them_apart",
             ranks_of_a_stage_are_alike_where_no_link_tells_them_apart},
            {"half_an_uplink_slows_only_those_who_cross_it",
             half_an_uplink_slows_only_those_who_cross_it},
            {"too_many_ranks_to_unfold_are_refused", too_many_ranks_to_unfold_are_refused},
            {"uneven_links_of_a_ring_need_no_more_performers",
             uneven_links_of_a_ring_need_no_more_performers},
            {"too_many_colours_are_merged_and_said_so", too_many_colours_are_merged_and_said_so},
            {"merged_trees_stay_above_their_bound", merged_trees_stay_above_their_bound},
            {"blocks_listed_once_fold_as_each_rank_would",
             blocks_listed_once_fold_as_each_rank_would},
            {"blocks_merge_as_each_rank_would", blocks_merge_as_each_rank_would},
            {"a_large_job_folds_quickly", a_large_job_folds_quickly},
            {"folded_jitter_is_near_the_mean_of_unfolded_seeds",
             folded_jitter_is_near_the_mean_of_unfolded_seeds},
            {"the_same_seed_gives_the_same_run", the_same_seed_gives_the_same_run},
            {0}});
}
