/* The interval between checkpoints: Young, Daly and the best, by closed forms. */
#include "strategies/run/run_interval.h"

#include <math.h>

#include "strategies/run/policies/policies.h"
#include "strategies/run/run_statistics.h"
#include "tests/kit/run_kit.h"

/* C = R = 600, D = 60; periods with the checkpoint. Source: Aupy et al. 2013, table 2. */
static void periods_are_those_of_aupys_table(void)
{
    static const struct {
        double mtbf_s, young_s, daly_s, best_s;
    } rows[] = {{3849609, 68567, 68573, 68240}, {1924805, 48660, 48668, 48320},
                {962402, 34584, 34595, 34189},  {481201, 24630, 24646, 24231},
                {240601, 17592, 17615, 17194},  {120300, 12615, 12648, 12218},
                {60150, 9096, 9142, 8701},      {30075, 6608, 6673, 6214},
                {15038, 4848, 4940, 4458},      {7519, 3604, 3733, 3218}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhIntervalProblem p = {rows[i].mtbf_s, 600, 60, 600};
        CU_ASSERT_DOUBLE_EQUAL(rh_interval_young_s(&p) + 600, rows[i].young_s, 1.0);
        CU_ASSERT_DOUBLE_EQUAL(rh_interval_daly_s(&p) + 600, rows[i].daly_s, 1.0);
        CU_ASSERT_DOUBLE_EQUAL(rh_interval_best_s(&p) + 600, rows[i].best_s,
                               0.0015 * rows[i].best_s);
    }
}

/* No interval near it, and none far from it, is better. */
static void the_best_interval_is_the_least_expected_time(void)
{
    for (double mtbf_s = 2000; mtbf_s < 2e6; mtbf_s *= 3) {
        RhIntervalProblem p = {mtbf_s, 100, 300, 400};
        double best_s = rh_interval_best_s(&p), most = rh_interval_goodput_frac(&p, best_s);
        for (double factor = 0.1; factor < 10; factor *= 1.07)
            CU_ASSERT_TRUE(rh_interval_goodput_frac(&p, best_s * factor) <= most * (1 + 1e-12));
    }
}

/* A short last interval would cost a checkpoint for little work, so the searched interval divides
 * the work, and neither more nor fewer of them are better: of hours without a failure one. */
static void the_searched_interval_divides_the_work(void)
{
    static const char *const policies[] = {"restart", "shrink"}; /* closed form; simulated */
    for (int i = 0; i < 4; i++) {
        RhTrainingRun run = llama_3();
        run.policy = rh_run_policy_by_name(policies[i / 2]);
        run.checkpoint.every_s = 0;
        run.least = run.most = 200;
        if (i % 2 == 0) {
            run.work_s = 5.3 * HOUR_S;
            run.mtbf_s = 132 * DAY_S;
            run.step_s = 1;
        } else
            run.work_s = 1.5 * DAY_S;
        RhRunResult best = replicated(&run);
        double parts = round(run.work_s / best.every_s);
        RH_CHECK_CLOSE(parts * best.every_s, run.work_s, 1e-12);
        CU_ASSERT_TRUE(i % 2 == 0 ? parts == 1 : parts > 10);
        for (int more = -1; more <= 1; more += 2) {
            if (parts + more < 1)
                continue;
            run.checkpoint.every_s = run.work_s / (parts + more);
            CU_ASSERT_TRUE(replicated(&run).time_s.mean >= best.time_s.mean * (1 - 1e-3));
        }
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"periods_are_those_of_aupys_table", periods_are_those_of_aupys_table},
        {"the_best_interval_is_the_least_expected_time",
         the_best_interval_is_the_least_expected_time},
        {"the_searched_interval_divides_the_work", the_searched_interval_divides_the_work},
        {NULL, NULL},
    };
    return rh_test_main("run_interval", tests);
}
