/* Replications of a run: how many are drawn, when they end, and what a seed fixes. */
#include "strategies/run/run_statistics.h"

#include <math.h>

#include "base/error.h"
#include "strategies/run/policies/policies.h"
#include "tests/kit/run_kit.h"

/* Runs of very many failures are all alike: a few of them say what hundreds would. */
static void runs_of_many_failures_are_drawn_few_times(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = 120;
    run.policy = rh_run_policy_by_name("groups");
    run.least = 200;
    run.most = 2000;
    run.close_frac = 1e-3;
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(r.replications < 100 && r.half_frac < 2.5e-4);
    CU_ASSERT_TRUE(r.time_s.p90 / r.time_s.p10 < 1.01);
    run.mtbf_s = DAY_S;
    run.policy = rh_run_policy_by_name("restart");
    CU_ASSERT_TRUE(replicated(&run).replications >= 200);
}

/* Draws that would take hours end at the deadline, and those until then are the answer. */
static void a_deadline_ends_the_draws(void)
{
    RhTrainingRun run = llama_3();
    run.least = run.most = G_MAXINT32 / 2;
    run.deadline = rh_deadline_in(0.3);
    gint64 t_start_us = g_get_monotonic_time();
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(r.timed_out && r.replications >= 2 && r.replications < run.most);
    CU_ASSERT_TRUE(g_get_monotonic_time() - t_start_us < 10 * G_USEC_PER_SEC);
    CU_ASSERT_DOUBLE_EQUAL(r.ettr_frac, run.work_s / r.time_s.mean, 1e-12);
    run.deadline.t_end_us = 1;
    expect_error(&run, RH_ERROR_NO_ANSWER);
}

static void a_seed_gives_the_same_run(void)
{
    RhTrainingRun run = llama_3();
    RhRunResult a = replicated(&run), b = replicated(&run);
    CU_ASSERT_EQUAL(a.times_s[2], a.time_s.p10);
    CU_ASSERT_EQUAL(a.times_s[10], a.time_s.p50);
    CU_ASSERT_DOUBLE_EQUAL(rh_run_simulate(&run, a.every_s, a.middle).time_s, a.time_s.p50,
                           1e-3 * a.time_s.p50);
    CU_ASSERT_EQUAL(a.time_s.p90, b.time_s.p90);
    run.seed = 2;
    CU_ASSERT_NOT_EQUAL(replicated(&run).time_s.p90, a.time_s.p90);
}

/* Where few runs meet a failure, those that met none do not say how long runs are. */
static void seldom_failures_are_waited_for(void)
{
    RhTrainingRun run = llama_3();
    run.work_s = 2 * HOUR_S;
    run.mtbf_s = 50 * HOUR_S;
    run.checkpoint.every_s = 1000 * DAY_S;
    run.least = 200;
    run.most = 4000;
    run.close_frac = 0.1;
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(r.failures.mean * r.replications >= 9.5);
    RH_CHECK_CLOSE(r.goodput_frac, r.exact_goodput_frac, 0.03);
}

int main(void)
{
    static const RhTest tests[] = {
        {"runs_of_many_failures_are_drawn_few_times", runs_of_many_failures_are_drawn_few_times},
        {"a_deadline_ends_the_draws", a_deadline_ends_the_draws},
        {"a_seed_gives_the_same_run", a_seed_gives_the_same_run},
        {"seldom_failures_are_waited_for", seldom_failures_are_waited_for},
        {NULL, NULL},
    };
    return rh_test_main("run_statistics", tests);
}
