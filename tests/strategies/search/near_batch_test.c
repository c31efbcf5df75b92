/* Batches near one that does not go into the GPUs. */
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/near_batch.h"
#include "strategies/train/layout_representatives.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static void multiples_of_the_largest_part_are_near(void)
{
    static const struct {
        int64_t batch;
        int32_t gpus;
        int64_t below, above;
    } cases[] = {
        {512, 48, 480, 528}, /* ten and eleven times all of them */
        {510, 48, 480, 528}, /* 85 of each node, and no layout of one sample for each GPU */
        {63, 64, 0, 64},     /* one short */
        {72, 64, 64, 0},     /* nine of each of eight nodes */
        {7, 32, 0, 8},       /* a quarter of the GPUs; no number is nearer */
        {512, 64, 0, 0},     /* divides */
        {2048, 16384, 0, 0}, /* an eighth of them */
        {2000, 64, 1984, 2048}, {100, 7, 98, 105},
        {3, 64, 0, 0}, /* a part of one divides everything */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t below = -1, above = -1;
        rh_near_batches(cases[i].batch, cases[i].gpus, &below, &above);
        CU_ASSERT_EQUAL(below, cases[i].below);
        CU_ASSERT_EQUAL(above, cases[i].above);
    }
}

/* 63 samples of 8 GPUs: a replica fewer, or stages; 64 are a plan of their own that is better by what is said. */
static void a_near_batch_that_gains_is_planned(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 63, 2048);
    RhPlanOptions options = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    g_autoptr(GArray) near = rh_near_batches_plan(&k.c, &options, plan);
    CU_ASSERT_TRUE_FATAL(near->len > 0);
    int gains = 0;
    for (guint i = 0; i < near->len; i++) {
        const RhNearBatch *n = &g_array_index(near, RhNearBatch, i);
        CU_ASSERT_TRUE(n->batch == 56 || n->batch == 64);
        if (!n->r)
            continue;
        gains++;
        CU_ASSERT_TRUE(n->gain_frac >= RH_NEAR_BATCH_GAIN);
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &n->r->layout, NULL));
        RH_CHECK_CLOSE(n->r->tokens_per_s_per_gpu / best->tokens_per_s_per_gpu, 1 + n->gain_frac,
                       1e-12);
    }
    CU_ASSERT_TRUE(gains > 0);
    k.c.job.global_batch = 64;
    g_autoptr(RhPlan) even = rh_plan(&k.c, &options, NULL);
    g_autoptr(GArray) none = rh_near_batches_plan(&k.c, &options, even);
    CU_ASSERT_EQUAL(none->len, 0);
}

/* Both batches in processes of their own are the same as one after the other. */
static void processes_plan_the_same(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 60, 2048);
    RhPlanOptions options = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .jobs = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    g_autoptr(GArray) alone = rh_near_batches_plan(&k.c, &options, plan);
    options.jobs = 2;
    g_autoptr(GArray) apart = rh_near_batches_plan(&k.c, &options, plan);
    CU_ASSERT_EQUAL(alone->len, 2);
    CU_ASSERT_EQUAL_FATAL(apart->len, alone->len);
    int gains = 0;
    for (guint i = 0; i < alone->len; i++) {
        const RhNearBatch *a = &g_array_index(alone, RhNearBatch, i),
                          *b = &g_array_index(apart, RhNearBatch, i);
        CU_ASSERT_EQUAL(a->batch, b->batch);
        CU_ASSERT_EQUAL(a->gain_frac, b->gain_frac);
        CU_ASSERT_EQUAL_FATAL(!a->r, !b->r);
        gains += a->r != NULL;
        CU_ASSERT_TRUE(!a->r || rh_layout_equal(&a->r->layout, &b->r->layout));
    }
    CU_ASSERT_TRUE(gains > 0);
}

static bool append_cut(const RhLayout *cut, void *user)
{
    g_array_append_vals(user, cut, 1);
    return true;
}

static GArray *cuts_of(const RhProblem *c, const RhProblem *unlike)
{
    g_autoptr(RhSpace) space = rh_space_new(c, NULL, 0, (RhDeadline){0});
    GArray *cuts = g_array_new(FALSE, TRUE, sizeof(RhLayout));
    rh_space_leave_out(space, unlike);
    rh_space_walk_cuts(space, append_cut, cuts);
    return cuts;
}

/* 60 samples of 16 GPUs: cuts of 64 samples are those of both batches and those that 60 rule out, none of them twice; of
 * a cut, `vpp` alone may still be wrong (the schedule's own number is not set yet), so it is set here. */
static void what_the_asked_batch_allows_is_left_out(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x2", "megatron", 60, 2048);
    RhProblem near = k.c;
    near.job.global_batch = 64;
    g_autoptr(GArray) all = cuts_of(&near, NULL), left = cuts_of(&near, &k.c);
    CU_ASSERT_TRUE(left->len > 0 && left->len < all->len);
    guint at = 0;
    for (guint i = 0; i < all->len; i++) {
        const RhLayout *cut = &g_array_index(all, RhLayout, i);
        bool is_left = at < left->len && rh_layout_equal(cut, &g_array_index(left, RhLayout, at));
        int64_t share = (int64_t)cut->dp * cut->microbatch, m = k.c.job.global_batch / share;
        bool divides = k.c.job.global_batch % share == 0;
        at += is_left;
        if (!divides)
            CU_ASSERT_TRUE(is_left);
        if (divides && cut->pp == 1)
            CU_ASSERT_FALSE(is_left);
        if (divides && is_left)
            CU_ASSERT_TRUE(m % cut->pp != 0 || m < 2 * cut->pp);
    }
    CU_ASSERT_EQUAL(at, left->len);
    g_autoptr(GArray) none = cuts_of(&near, &near);
    CU_ASSERT_EQUAL(none->len, 0);
}

/* Where the near batch's own best is a layout that the asked batch rules out, it is the one that is found. */
static void the_best_that_is_ruled_out_is_found(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 63, 2048);
    RhPlanOptions options = {.top = 1, .gap_frac = 0.001, .risk_frac = 0.05, .best_alone = true};
    g_autoptr(RhPlan) asked = rh_plan(&k.c, &options, NULL);
    g_autoptr(GArray) near = rh_near_batches_plan(&k.c, &options, asked);
    RhProblem even = k.c;
    even.job.global_batch = 64;
    g_autoptr(RhPlan) plan = rh_plan(&even, &options, NULL);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    CU_ASSERT_FALSE_FATAL(rh_train_legal(&k.c, &best->layout, NULL));
    const RhNearBatch *found = &g_array_index(near, RhNearBatch, near->len - 1);
    CU_ASSERT_EQUAL(found->batch, 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found->r);
    RH_CHECK_CLOSE(found->r->step_time_s, best->step_time_s, 1e-3);
}

/* Bounds everything that a batch allows, without chunks: cuts, then layouts and their memory. */
static GArray *bounds_of(RhBoundCache *cache, const RhProblem *c)
{
    g_autoptr(GArray) cuts = cuts_of(c, NULL);
    GArray *out = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < cuts->len; i++) {
        const RhLayout *cut = &g_array_index(cuts, RhLayout, i);
        RhLayout l = rh_train_plain_cut(cut, RH_ORDER_TP_DP_PP);
        double found[] = {rh_cut_bound_kernels_s(cache, cut), rh_cut_bound_s(cache, cut), 0, 0};
        if (rh_train_legal(c, &l, NULL)) {
            found[2] = rh_segment_graph_s(cache, &l);
            found[3] = rh_bound_memory(cache, &l).peak_bytes;
        }
        g_array_append_vals(out, found, G_N_ELEMENTS(found));
        rh_bound_forget_shards(cache);
    }
    return out;
}

/* A cache that was for another batch gives what a new one gives; of another sequence it is not used. */
static void a_kept_cache_bounds_as_a_new_one(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 30, 2048);
    RhProblem near = k.c;
    near.job.global_batch = 32;
    g_autoptr(RhBoundCache) kept = rh_bound_new(&k.c), fresh = rh_bound_new(&near);
    g_array_unref(bounds_of(kept, &k.c));
    rh_bound_end_batch(kept);
    const RhBoundCache *before = kept;
    kept = rh_bound_for_batch(kept, &near);
    CU_ASSERT_PTR_EQUAL(kept, before);
    g_autoptr(GArray) a = bounds_of(kept, &near), b = bounds_of(fresh, &near);
    CU_ASSERT_EQUAL_FATAL(a->len, b->len);
    CU_ASSERT_TRUE(a->len > 4000);
    CU_ASSERT_EQUAL(memcmp(a->data, b->data, a->len * sizeof(double)), 0);
    rh_bound_end_batch(kept);
    RhProblem longer = near;
    longer.job.sequence = 4096;
    kept = rh_bound_for_batch(kept, &longer);
    CU_ASSERT_EQUAL(g_hash_table_size(kept->works.table), 0);
}

int main(void)
{
    return rh_test_main(
        "near_batch",
        (RhTest[]){
            {"multiples_of_the_largest_part_are_near", multiples_of_the_largest_part_are_near},
            {"a_near_batch_that_gains_is_planned", a_near_batch_that_gains_is_planned},
            {"processes_plan_the_same", processes_plan_the_same},
            {"what_the_asked_batch_allows_is_left_out", what_the_asked_batch_allows_is_left_out},
            {"the_best_that_is_ruled_out_is_found", the_best_that_is_ruled_out_is_found},
            {"a_kept_cache_bounds_as_a_new_one", a_kept_cache_bounds_as_a_new_one},
            {0}});
}
