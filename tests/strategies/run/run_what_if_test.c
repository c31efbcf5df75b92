/* Changes of a run: gains are of the change alone, not of how many replications each side had. */
#include "strategies/run/run_what_if.h"

#include <math.h>

#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "tests/kit/testkit.h"

#define HOUR_S 3600.0
#define DAY_S  86400.0

/* A month of 64 nodes whose mean over 100 replications is not that of 1,000. */
static RhTrainingRun month(void)
{
    const RhFailureRates *rates = rh_failure_rates_by_name("llama-3");
    return (RhTrainingRun){.work_s = 30 * DAY_S,
                           .step_s = 5,
                           .nodes_count = 64,
                           .node_gpus = 8,
                           .rates = rates,
                           .mtbf_s = 2 * DAY_S,
                           .law = RH_LAW_EXPONENTIAL,
                           .checkpoint = {.every_s = 8 * HOUR_S, .write_s = 30, .read_s = 100},
                           .startup_s = 200,
                           .policy = &rh_run_policy_restart,
                           .spares_endless = true,
                           .group_nodes = 16,
                           .seed = 1,
                           .least = 1000,
                           .most = 1000};
}

static const RhRunChange *find(const GArray *changes, const char *name)
{
    for (guint i = 0; i < changes->len; i++) {
        const RhRunChange *one = &g_array_index(changes, RhRunChange, i);
        if (g_str_equal(one->change, name))
            return one;
    }
    return NULL;
}

/* The means of 1,000 and of 100 replications differ by more than a shorter start-up could save. */
static void a_change_gains_no_more_than_it_changes(void)
{
    RhTrainingRun run = month(), few = month();
    RhRunResult all, hundred;
    few.least = few.most = 100;
    CU_ASSERT_TRUE_FATAL(rh_run_replicate(&run, &all, NULL));
    CU_ASSERT_TRUE_FATAL(rh_run_replicate(&few, &hundred, NULL));
    double most_s = run.startup_s / 2 * all.failures.mean;
    CU_ASSERT_TRUE(fabs(all.time_s.mean - hundred.time_s.mean) > most_s);
    g_autoptr(GArray) changes = rh_run_changes_all(&run, &all);
    const RhRunChange *quick = find(changes, "start-up in half the time");
    CU_ASSERT_PTR_NOT_NULL_FATAL(quick);
    double saved_s = all.time_s.mean - quick->time_s;
    RH_CHECK_CLOSE(saved_s, most_s, 0.5); /* failures strike at other moments of the work */
}

/* A change to what the run has already changes no figure. */
static void a_change_of_nothing_gains_nothing(void)
{
    RhTrainingRun run = month();
    RhRunResult all;
    run.detection_s = 60 + 1e-6;
    CU_ASSERT_TRUE_FATAL(rh_run_replicate(&run, &all, NULL));
    g_autoptr(GArray) changes = rh_run_changes_all(&run, &all);
    const RhRunChange *soon = find(changes, "failures detected in 1 min");
    CU_ASSERT_PTR_NOT_NULL_FATAL(soon);
    RH_CHECK_CLOSE(soon->time_s, all.time_s.mean, 1e-9);
    RH_CHECK_CLOSE(soon->goodput_frac, all.goodput_frac, 1e-9);
}

int main(void)
{
    return rh_test_main(
        "run_what_if",
        (RhTest[]){
            {"a_change_gains_no_more_than_it_changes", a_change_gains_no_more_than_it_changes},
            {"a_change_of_nothing_gains_nothing", a_change_of_nothing_gains_nothing},
            {0},
        });
}
