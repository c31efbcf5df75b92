/* Runs whose steps change. */
#include "strategies/run/run_phases.h"

#include <math.h>

#include "tests/kit/testkit.h"

/* Llama 3 405B: 252 M tokens at 4 M a step of 4,096, until 2.87 T at 8 M of 8,192, then 16 M. Source: The Llama 3
 * Herd of Models, 3.4.1. */
static void work_is_the_sum_over_phases(void)
{
    RhRunPhase phases[] = {{.tokens = 252e6, .step_tokens = 1024 * 4096, .step_s = 2},
                           {.tokens = 2.87e12 - 252e6, .step_tokens = 1024 * 8192, .step_s = 3},
                           {.tokens = 15.6e12 - 2.87e12, .step_tokens = 2048 * 8192, .step_s = 5}};
    double work_s = rh_run_phases_sum(phases, 3);
    CU_ASSERT_EQUAL(phases[0].steps, 61);
    CU_ASSERT_EQUAL(phases[1].steps, 342101);
    CU_ASSERT_DOUBLE_EQUAL(work_s, 61 * 2 + 342101 * 3 + phases[2].steps * 5, 1e-6);
}

/* theta falls from 1 to a half at 0.001 a step: three quarters of the layers run in a long run, and a quarter of the
 * FLOPs and 24 % of the time go. Source: DeepSpeed, progressive layer dropping (Zhang and He 2020). */
static void layer_drop_is_the_published_one(void)
{
    CU_ASSERT_DOUBLE_EQUAL(rh_layer_drop_keep_frac(0.5, 0.001, 1e9), 0.75, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(rh_layer_drop_keep_frac(0.5, 0.001, 0), 1, 1e-12);
    double sum = 0;
    for (int t = 0; t < 5000; t++)
        sum += (1 + 0.5 * exp(-0.001 * (t + 0.5)) + 0.5) / 2;
    CU_ASSERT_DOUBLE_EQUAL(rh_layer_drop_keep_frac(0.5, 0.001, 5000), sum / 5000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(rh_layer_drop_step_s(1, 0.96, 0.75), 0.76, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(rh_layer_drop_step_s(1, 1, 0.75), 0.75, 1e-12);
}

int main(void)
{
    static const RhTest tests[] = {
        {"work_is_the_sum_over_phases", work_is_the_sum_over_phases},
        {"layer_drop_is_the_published_one", layer_drop_is_the_published_one},
        {NULL, NULL},
    };
    return rh_test_main("run_phases", tests);
}
