#include "tests/kit/run_kit.h"

#include <stdio.h>

#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"

RhTrainingRun llama_3(void)
{
    const RhFailureRates *rates = rh_failure_rates_by_name("llama-3");
    return (RhTrainingRun){.work_s = 60 * DAY_S,
                           .step_s = 5,
                           .nodes_count = 2048,
                           .node_gpus = 8,
                           .rates = rates,
                           .mtbf_s = rh_failure_rates_mtbf_s(rates, 16384),
                           .law = RH_LAW_EXPONENTIAL,
                           .checkpoint = {.every_s = 1800, .write_s = 30, .read_s = 100},
                           .startup_s = 200,
                           .policy = rh_run_policy_by_name("restart"),
                           .spares_endless = true,
                           .group_nodes = 16,
                           .seed = 1,
                           .least = 400,
                           .most = 400};
}

RhRunResult replicated(const RhTrainingRun *run)
{
    RhRunResult result = {0};
    GError *error = NULL;
    CU_ASSERT_TRUE(rh_training_run_check(run, &error) && rh_run_replicate(run, &result, &error));
    if (error)
        printf("%s\n", error->message);
    g_clear_error(&error);
    return result;
}

void expect_error(const RhTrainingRun *run, RhErrorCode code)
{
    RhRunResult result;
    GError *error = NULL;
    CU_ASSERT_FALSE(rh_training_run_check(run, &error) && rh_run_replicate(run, &result, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, code));
    g_clear_error(&error);
}
