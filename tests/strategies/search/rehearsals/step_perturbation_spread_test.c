/* Steps that move when next to nothing changes: told from timers that are wrong. */
#include <math.h>

#include "strategies/search/rehearsals/step_perturbation_spread.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Tensor groups of two share NVLink with the exchange of tokens, of which each GPU has many flows. */
#define LAYOUT                                                                                     \
    "tp2,pp8,dp32,ep32,etp1,dispatch=deepep,vpp2,mb1,zero1,recompute=none,schedule=dualpipe-v,"    \
    "sp=on,partition=work"

/* How much longer the step takes with flows for timers, and how far it moves by itself. */
static double apart_frac(int64_t microbatches, RhStepSpread *spread)
{
    g_autoptr(GError) error = NULL;
    g_auto(TrainKit) k =
        train_kit("deepseek-v3", "hgx-h800:64", "hai-llm", 32 * microbatches, 4096);
    k.c.job.recipe = rh_recipe_by_name("fp8-block");
    RhRehearsalNote note = {train_layout(&k, LAYOUT), 0};
    g_autoptr(RhUncontendedTimes) alone = rh_uncontended_times_new(k.platform);
    g_autoptr(RhFoldedTable) folded = rh_fold_cache_new();
    g_autoptr(RhIsolatedRuns) apart =
        rh_isolated_run_new(rh_rehearsal_build, sizeof note, k.platform, alone, folded, &k.c);
    RhEngineOptions timers = {0}, flows = {.collapse_disabled = true};
    g_autoptr(RhRun) by_timers = NULL;
    g_autoptr(RhRun) by_flows = NULL;
    RhIsolatedBatch batch = {.count = 1,
                             .jobs = 1,
                             .notes = &note,
                             .options = &timers,
                             .out = &by_timers,
                             .errors = &error};
    rh_isolated_run_batch(apart, &batch);
    g_assert_no_error(error);
    batch.options = &flows;
    batch.out = &by_flows;
    rh_isolated_run_batch(apart, &batch);
    g_assert_no_error(error);
    CU_ASSERT_TRUE(
        rh_step_spread(apart, &note, by_timers->step_time_s, &timers, 2, spread, &error));
    g_assert_no_error(error);
    return by_flows->step_time_s / by_timers->step_time_s - 1;
}

/* Differences of 1e-15 s double with each micro-batch or nearly so. As long as they are small, timers and
 * flows are the same step. */
static void timers_are_flows_while_differences_are_small(void)
{
    RhStepSpread spread;
    double apart = apart_frac(16, &spread);
    CU_ASSERT_DOUBLE_EQUAL(apart, 0, 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(spread.least_frac, 0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(spread.most_frac, 0, 1e-6);
    CU_ASSERT_FALSE(rh_spread_explains(spread, 1e-3));
    CU_ASSERT_FALSE(rh_spread_explains(spread, -1e-3));
}

static void flows_differ_by_no_more_than_a_nudge_does(void)
{
    RhStepSpread spread;
    double apart = apart_frac(88, &spread);
    CU_ASSERT_TRUE(spread.most_frac - spread.least_frac > 5e-4);
    CU_ASSERT_TRUE(spread.most_frac - spread.least_frac < 2e-2);
    CU_ASSERT_TRUE(rh_spread_explains(spread, apart));
}

static void a_spread_explains_as_much_again_on_either_side(void)
{
    RhStepSpread spread = {-0.001, 0.003};
    CU_ASSERT_TRUE(rh_spread_explains(spread, 0.0069));
    CU_ASSERT_FALSE(rh_spread_explains(spread, 0.0071));
    CU_ASSERT_TRUE(rh_spread_explains(spread, -0.0049));
    CU_ASSERT_FALSE(rh_spread_explains(spread, -0.0051));
}

int main(void)
{
    return rh_test_main("step_stability",
                        (RhTest[]){{"timers_are_flows_while_differences_are_small",
                                    timers_are_flows_while_differences_are_small},
                                   {"flows_differ_by_no_more_than_a_nudge_does",
                                    flows_differ_by_no_more_than_a_nudge_does},
                                   {"a_spread_explains_as_much_again_on_either_side",
                                    a_spread_explains_as_much_again_on_either_side},
                                   {0}});
}
