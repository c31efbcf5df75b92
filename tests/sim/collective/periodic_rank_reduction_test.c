/* Long rows of ranks, timed by few of them. */
#include <gsl/gsl_rng.h>

#include "sim/collective/periodic_rank_reduction.h"
#include "tests/kit/testkit.h"

/* A role of tensor places, then stages between, then replicas, and one group of it. */
static RhProgram *grid_of(int32_t tp, int32_t cp, int32_t gap, int32_t dp, int32_t stage,
                          const RhStride *spans, int32_t count)
{
    RhProgram *p = rh_program_new(tp * cp * gap * dp);
    RhStride role[] = {{1, tp}, {tp, cp}, {tp * cp * gap, dp}};
    rh_program_add_group(p, "group", spans, count);
    rh_program_begin_role(p, "stage", stage * tp * cp, role, 3);
    rh_program_end_role(p);
    return p;
}

/* Every member listed, as the engine has it. */
static RhScheduleTime listed(const RhProgram *p, const RhPlatform *platform, RhOp op, RhAlgo algo,
                             double bytes)
{
    const RhGroup *g = rh_program_group(p, 0);
    g_autofree int32_t *nodes = g_new(int32_t, g->size);
    rh_group_members(g, rh_program_role(p, 0)->first_rank, nodes);
    for (int32_t i = 0; i < g->size; i++)
        nodes[i] = rh_platform_node_of(platform, nodes[i]);
    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, g->size, nodes, bytes, NULL);
    return rh_schedule_time(s, p, platform, 0, 0);
}

/* Before and behind the number of nodes. */
static const struct {
    const char *node, *rest;
    int32_t gpus;
} fabrics[] = {{"h100-sxm:8x", ",ib:400Gb/s", 8},
               {"h100-sxm:8x", ",ib:400Gb/s,leaf:2,oversub:4", 8},
               {"h100-sxm:8x", ",ib:400Gb/s,leaf:3,oversub:7", 8},
               {"h100-sxm:4x", ",ib:100Gb/s,nics:2,leaf:4,oversub:2", 4},
               {"h100-sxm:4x", ",ib:100Gb/s,nics:1,leaf:2,oversub:3", 4},
               {"h100-sxm:6x", ",ib:100Gb/s,leaf:2,oversub:3", 6},
               {"dgx-h100:", "", 8}};

static RhPlatform *fabric(gsl_rng *rng, int32_t gpus, bool rails)
{
    size_t others = G_N_ELEMENTS(fabrics) - 1;
    size_t kind = rails ? others : gsl_rng_uniform_int(rng, others);
    int32_t nodes = (gpus + fabrics[kind].gpus - 1) / fabrics[kind].gpus;
    g_autofree char *line =
        g_strdup_printf("%s%d%s", fabrics[kind].node, nodes, fabrics[kind].rest);
    RhPlatform *p = rh_platform_load(line, NULL);
    g_assert(p);
    if (rails) { /* small ones: two tiers that begin anew after six nodes */
        p->tiers[0].nodes_per_group = 2;
        p->tiers[1].nodes_per_group = 6;
        p->tiers[1].oversubscription.value = 2;
    }
    return p;
}

static int32_t pick(gsl_rng *rng, const int32_t *from, size_t count)
{
    return from[gsl_rng_uniform_int(rng, count)];
}
#define PICK(...)                                                                                  \
    pick(rng, (const int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

typedef struct {
    int32_t tp, cp, gap, dp, stage;
    RhStride spans[2];
    int32_t spans_count;
} Drawn;

/* A group inside a repetition, over all replicas, over some of them, or over every so many. */
static Drawn draw(gsl_rng *rng)
{
    Drawn d = {.tp = PICK(1, 2, 3, 4, 8), .cp = PICK(1, 1, 2), .gap = PICK(1, 1, 2, 3)};
    d.dp = (int32_t)(60 + gsl_rng_uniform_int(rng, 200)) * 4;
    d.stage = (int32_t)gsl_rng_uniform_int(rng, (unsigned long)d.gap);
    int32_t stride = d.tp * d.cp * d.gap, share = PICK(2, 4);
    RhStride kinds[][2] = {{{1, d.tp}, {1, 1}},
                           {{stride, d.dp}, {1, 1}},
                           {{d.tp, d.cp}, {stride, d.dp}},
                           {{stride, share}, {1, 1}},
                           {{stride * share, d.dp / share}, {1, 1}}};
    size_t kind = gsl_rng_uniform_int(rng, G_N_ELEMENTS(kinds));
    d.spans[0] = kinds[kind][0];
    d.spans[1] = kinds[kind][1];
    d.spans_count = kind == 2 ? 2 : 1;
    return d;
}

static void few_of_a_row_stand_for_all(void)
{
    int shortened = 0, rings = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < 300; i++) {
        gsl_rng_set(rng, (unsigned long)i + 1);
        Drawn d = draw(rng);
        g_autoptr(RhProgram) p = grid_of(d.tp, d.cp, d.gap, d.dp, d.stage, d.spans, d.spans_count);
        int32_t more = PICK(0, 0, 8, 24); /* GPUs beyond the job's: switches less or more full */
        g_autoptr(RhPlatform) platform = fabric(rng, p->ranks_count + more, i % 3 == 0);
        RhOp op = (RhOp)PICK(RH_OP_ALL_REDUCE, RH_OP_ALL_GATHER, RH_OP_REDUCE_SCATTER, RH_OP_SHIFT);
        RhAlgo algo = RH_ALGO_RING;
        RhScheduleTime full = listed(p, platform, op, algo, 1e9);
        RhCollectiveSpec call = {.op = op, .algo = algo, .bytes = 1e9};
        RhScheduleTime few = rh_collective_time(p, platform, 0, 0, &call);
        g_autoptr(RhProgram) shorter = rh_sampled_ranks(p, platform, 0, 0, true);
        RH_CHECK_CLOSE(few.fixed_s, full.fixed_s, 1e-12);
        RH_CHECK_CLOSE(few.moving_s, full.moving_s, 1e-12);
        CU_ASSERT_EQUAL(few.linear, full.linear);
        if (fabs(few.moving_s / full.moving_s - 1) > 1e-12 ||
            fabs(few.fixed_s / full.fixed_s - 1) > 1e-12)
            g_printerr("  %d: tp%d cp%d gap%d dp%d stage %d, group %d x %d, %s: %g %g\n", i, d.tp,
                       d.cp, d.gap, d.dp, d.stage, d.spans[0].stride, d.spans[0].extent,
                       platform->name, few.moving_s / full.moving_s, few.fixed_s / full.fixed_s);
        shortened += shorter != NULL;
        rings += shorter && rh_program_group(shorter, 0)->size < rh_program_group(p, 0)->size;
    }
    CU_ASSERT_TRUE(shortened > 100 && rings > 30);
    printf("    %d of 300 shortened, %d of them rings over the row\n", shortened, rings);
    gsl_rng_free(rng);
}

/* The number of sampled ranks does not grow with the job: it is equal for 2^14 to 2^20 ranks. */
static void the_work_does_not_grow_with_the_row(void)
{
    int32_t before = 0;
    for (int32_t dp = 1 << 14; dp <= 1 << 17; dp *= 2) {
        g_autofree char *line = g_strdup_printf("dgx-h100:%d", dp);
        g_autoptr(RhPlatform) platform = rh_platform_load(line, NULL);
        RhStride over = {8, dp};
        g_autoptr(RhProgram) p = grid_of(8, 1, 1, dp, 0, &over, 1);
        g_autoptr(RhProgram) shorter = rh_sampled_ranks(p, platform, 0, 0, true);
        CU_ASSERT_PTR_NOT_NULL_FATAL(shorter);
        int32_t ranks = rh_program_role(shorter, 0)->ranks_count;
        CU_ASSERT_TRUE(ranks < 16384 && (before == 0 || ranks == before));
        before = ranks;
    }
    printf("    %d ranks stand for a million\n", before);
}

/* A tree over the row is no row of repetitions; nor is one with a link of its own. */
static void what_does_not_repeat_is_listed(void)
{
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:8192", NULL);
    RhStride over = {8, 8192}, inside = {1, 8};
    g_autoptr(RhProgram) p = grid_of(8, 1, 1, 8192, 0, &over, 1);
    g_autoptr(RhProgram) tensor = grid_of(8, 1, 1, 8192, 0, &inside, 1);
    CU_ASSERT_PTR_NULL(rh_sampled_ranks(p, platform, 0, 0, false));
    g_autoptr(RhProgram) any = rh_sampled_ranks(tensor, platform, 0, 0, false);
    CU_ASSERT_PTR_NOT_NULL(any);
    rh_platform_link_scale(platform, 0, 0.5);
    CU_ASSERT_PTR_NULL(rh_sampled_ranks(p, platform, 0, 0, true));
    CU_ASSERT_PTR_NULL(rh_sampled_ranks(tensor, platform, 0, 0, false));
}

/* Trees are told in short: edges by depth, each in use for as many steps as there are chunks; what they put on
 * links is counted once for all bytes. */
static void trees_told_in_short_take_as_long(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < 60; i++) {
        gsl_rng_set(rng, (unsigned long)i + 1);
        Drawn d = draw(rng);
        d.dp = 1 + (int32_t)gsl_rng_uniform_int(rng, 90);
        int32_t stride = d.tp * d.cp * d.gap;
        RhStride kinds[] = {{stride, d.dp}, {1, d.tp}};
        g_autoptr(RhProgram) p = grid_of(d.tp, d.cp, d.gap, d.dp, d.stage, &kinds[i % 4 == 0], 1);
        g_autoptr(RhPlatform) platform = fabric(rng, p->ranks_count, i % 3 == 0);
        if (rh_program_group(p, 0)->size < 2)
            continue;
        RhCollectiveSpec call = {.op = RH_OP_ALL_REDUCE, .algo = RH_ALGO_TREE, .bytes = 1e6};
        RhPatternTally *once = rh_collective_tally_new(p, platform, 0, 0, &call);
        for (double bytes = 4; bytes < 1e11; bytes *= 100) {
            RhScheduleTime full = listed(p, platform, RH_OP_ALL_REDUCE, RH_ALGO_TREE, bytes);
            call.bytes = bytes;
            RhScheduleTime few = rh_collective_time(p, platform, 0, 0, &call);
            RH_CHECK_CLOSE(few.fixed_s, full.fixed_s, 1e-12);
            RH_CHECK_CLOSE(few.moving_s, full.moving_s, 1e-12);
            CU_ASSERT_EQUAL(few.linear, full.linear);
            if (bytes > RH_LATENCY_BYTES)
                RH_CHECK_CLOSE(rh_step_pattern_tally_time(once, RH_ALGO_TREE, bytes).moving_s,
                               full.moving_s, 1e-12);
        }
        rh_step_pattern_tally_free(once);
    }
    gsl_rng_free(rng);
}

int main(void)
{
    return rh_test_main(
        "rank_sampling",
        (RhTest[]){{"few_of_a_row_stand_for_all", few_of_a_row_stand_for_all},
                   {"the_work_does_not_grow_with_the_row", the_work_does_not_grow_with_the_row},
                   {"trees_told_in_short_take_as_long", trees_told_in_short_take_as_long},
                   {"what_does_not_repeat_is_listed", what_does_not_repeat_is_listed},
                   {0}});
}
