/* Counts that a plan reports of its search: each stage of the funnel has fewer layouts than the one before. */
#include "strategies/search/plan.h"

#include "strategies/search/memory_budget.h"
#include "tests/kit/train_kit.h"

static void each_stage_has_fewer_layouts(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 32, 4096);
    RhPlanOptions o = {.gap_frac = 0.002, .jobs = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_TRUE(plan->cuts_count >= plan->cuts_opened_count);
    CU_ASSERT_TRUE(plan->cuts_opened_count > 0 && plan->chunks_opened_count > 0);
    CU_ASSERT_TRUE(plan->legal_count >= plan->fit_count);
    CU_ASSERT_TRUE(plan->fit_count >= plan->within_budget_count);
    CU_ASSERT_TRUE(plan->fit_count >= plan->segments_count);
    CU_ASSERT_TRUE(plan->segments_count >= plan->rehearsed_count);
    CU_ASSERT_TRUE(plan->rehearsed_count >= (int64_t)plan->entries->len);
    CU_ASSERT_TRUE(plan->entries->len > 0 && plan->lost_count == 0 && plan->too_large_count == 0);
}

/* Sets of modules without one that memory requires are not looked at: otherwise there were three layouts for
 * each that fits here, where mixtures must recompute. */
static void sets_that_cannot_fit_are_left_out(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "megatron", 32, 4096);
    RhPlanOptions o = {.gap_frac = 0.002, .jobs = 1};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_TRUE(2 * plan->legal_count < 5 * plan->fit_count);
}

/* Where every layout of the space is screened, those are counted that fit by their memory. */
static void a_listed_space_is_screened_by_memory(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 32, 4096);
    RhPlanOptions o = {.gap_frac = 0.002, .jobs = 1, .listed = true, .unperformed = true};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    double most_bytes = rh_memory_budget(&k.c, NULL, 0, 0).most_bytes;
    int64_t fit = 0;
    for (guint i = 0; i < space->len; i++)
        fit += rh_train_memory(&k.c, &g_array_index(space, RhLayout, i)).peak_bytes <= most_bytes;
    CU_ASSERT_EQUAL(plan->legal_count, space->len);
    CU_ASSERT_EQUAL(plan->fit_count, fit);
    CU_ASSERT_TRUE(fit > 0 && fit < plan->legal_count);
}

int main(void)
{
    return rh_test_main(
        "plan_counts",
        (RhTest[]){{"each_stage_has_fewer_layouts", each_stage_has_fewer_layouts},
                   {"sets_that_cannot_fit_are_left_out", sets_that_cannot_fit_are_left_out},
                   {"a_listed_space_is_screened_by_memory", a_listed_space_is_screened_by_memory},
                   {0}});
}
