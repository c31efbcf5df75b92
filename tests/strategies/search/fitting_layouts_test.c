/* Layouts that fit: the quickest is the least bound of all of them, and beyond the largest sizes
 * none of them fits. */
#include <math.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/fitting_layouts.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define GIB ((double)(1 << 30))

/* Asks every usual layout, one by one. */
static void check_quickest(const RhProblem *c, double room)
{
    RhFittingLayouts found = rh_fitting_layouts(c, rh_deadline_in(0), room);
    g_autoptr(GArray) all = rh_space_list(c, NULL, 0);
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    double least_s = (double)INFINITY;
    int64_t fit = 0;
    for (guint i = 0; i < all->len; i++) {
        const RhLayout *l = &g_array_index(all, RhLayout, i);
        if (!rh_memory_holds(c, l, room))
            continue;
        fit++;
        least_s = fmin(least_s, rh_segment_graph_s(cache, l));
    }
    CU_ASSERT_EQUAL(found.fit_count, fit);
    if (fit > 0) {
        CU_ASSERT_TRUE(rh_memory_holds(c, &found.quickest, room));
        CU_ASSERT_DOUBLE_EQUAL(found.segment_s, least_s * rh_straggler_factor(c), 1e-12);
    }
}

static bool some_fits(const RhProblem *c, int32_t microbatch, double room)
{
    RhConstraint one = {.knob = rh_knob_microbatch(), .value = microbatch};
    g_autoptr(GArray) all = rh_space_list(c, &one, microbatch > 0 ? 1 : 0);
    for (guint i = 0; i < all->len; i++)
        if (rh_memory_holds(c, &g_array_index(all, RhLayout, i), room))
            return true;
    return false;
}

static void check_largest(const RhProblem *asked, double room)
{
    RhFittingLayouts found = rh_fitting_layouts(asked, rh_deadline_in(0), room);
    if (found.fit_count == 0)
        return;
    RhLargestAnywhere largest =
        rh_memory_reach_anywhere(asked, &found.quickest, rh_deadline_in(0), room);
    int64_t n = largest.sizes.microbatch;
    RhProblem c = *asked;
    c.job.global_batch = n * asked->job.global_batch;
    CU_ASSERT_TRUE(rh_memory_holds(&c, &largest.at_microbatch, room));
    CU_ASSERT_EQUAL(largest.at_microbatch.microbatch, n);
    c.job.global_batch = (n + 1) * asked->job.global_batch;
    CU_ASSERT_FALSE(some_fits(&c, (int32_t)n + 1, room));
    c = *asked;
    c.job.sequence = largest.sizes.sequence;
    CU_ASSERT_TRUE(rh_memory_holds(&c, &largest.at_sequence, room));
    c.job.sequence += RH_MEMORY_SEQUENCE_STEP;
    CU_ASSERT_EQUAL(largest.sizes.sequence_is_most, c.job.sequence > c.model->positions);
    if (!largest.sizes.sequence_is_most)
        CU_ASSERT_FALSE(some_fits(&c, 1, room));
}

static void every_layout_was_asked(void)
{
    static const double rooms[] = {20, 40, 70};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 16, 4096);
    for (size_t i = 0; i < G_N_ELEMENTS(rooms); i++) {
        check_quickest(&k.c, rooms[i] * GIB);
        check_largest(&k.c, rooms[i] * GIB);
    }
}

static void adapters_reach_a_rank(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 16, 4096);
    k.c.job.lora.rank = 8;
    double room = 8 * GIB;
    RhFittingLayouts found = rh_fitting_layouts(&k.c, rh_deadline_in(0), room);
    CU_ASSERT_TRUE(found.fit_count > 0);
    RhLargestAnywhere largest =
        rh_memory_reach_anywhere(&k.c, &found.quickest, rh_deadline_in(0), room);
    RhProblem c = k.c;
    c.job.lora.rank = (int32_t)largest.sizes.lora_rank;
    CU_ASSERT_TRUE(c.job.lora.rank >= 8 && rh_memory_holds(&c, &largest.at_rank, room));
    c.job.lora.rank *= 2;
    CU_ASSERT_TRUE(c.job.lora.rank > RH_MEMORY_RANK_MOST || !some_fits(&c, 0, room));
}

static void a_deadline_is_told(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 16, 4096);
    RhLayout l = train_layout(&k, "tp8,recompute=full");
    RhDeadline over = rh_deadline_in(1e-9);
    CU_ASSERT_TRUE(rh_memory_reach_anywhere(&k.c, &l, over, 70 * GIB).cut_short);
    RhDeadline none = rh_deadline_in(0);
    CU_ASSERT_FALSE(rh_memory_reach_anywhere(&k.c, &l, none, 70 * GIB).cut_short);
}

int main(void)
{
    return rh_test_main("fitting_layouts",
                        (RhTest[]){{"every_layout_was_asked", every_layout_was_asked},
                                   {"adapters_reach_a_rank", adapters_reach_a_rank},
                                   {"a_deadline_is_told", a_deadline_is_told},
                                   {0}});
}
