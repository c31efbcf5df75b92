/* Layouts for the sizes that a job may shrink to. */
#include "base/garray_access.h"
#include "strategies/search/capacity/elastic_plan.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* 16 nodes of a batch of 64: on 15 no degree divides, and what has a layout has the planner's. */
static void sizes_are_those_that_divide(void)
{
    g_auto(TrainKit) k = train_kit("llama-2-7b", "h100-sxm:8x16,ib:400Gb/s", "megatron", 64, 2048);
    RhPlanOptions options = {
        .top = 1, .best_alone = true, .gap_frac = 0.01, .risk_frac = 1, .jobs = 1};
    g_autoptr(GArray) sizes = rh_elastic_plan(&k.c, 8, &options);
    CU_ASSERT_TRUE(sizes->len >= 2);
    for (guint i = 0; i < sizes->len; i++) {
        const RhElasticSize *size = RH_AT(sizes, RhElasticSize, i);
        RhProblem c = k.c;
        c.job.gpus = 8 * size->nodes;
        g_autoptr(RhPlan) plan = rh_plan(&c, &options, NULL);
        const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
        RH_CHECK_CLOSE(size->step_s, best->step_time_s, 1e-12);
        CU_ASSERT_TRUE(size->nodes < 16 && size->nodes >= 8);
        CU_ASSERT_EQUAL(size->layout.tp * size->layout.pp * size->layout.dp * size->layout.cp,
                        8 * size->nodes);
        CU_ASSERT_TRUE(i == 0 || size->nodes < RH_AT(sizes, RhElasticSize, i - 1)->nodes);
    }
    CU_ASSERT_EQUAL(RH_AT(sizes, RhElasticSize, sizes->len - 1)->nodes, 8);
}

int main(void)
{
    return rh_test_main(
        "elastic_plan",
        (RhTest[]){{"sizes_are_those_that_divide", sizes_are_those_that_divide}, {NULL, NULL}});
}
