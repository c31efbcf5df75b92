/* Runs over time: replications beside the closed form, published figures. */
#include "strategies/run/training_run_spec.h"

#include <math.h>

#include "base/error.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/run_interval.h"
#include "strategies/run/run_segment.h"
#include "strategies/run/run_statistics.h"
#include "tests/kit/run_kit.h"

/* The grid of cases: four clusters' rates at four sizes, three costs, two restarts, three intervals. */
static void replications_agree_with_the_closed_form(void)
{
    static const double per_1000_node_days[] = {6.5, 2.34, 3.789, 1.0};
    static const double gpus[] = {1024, 4096, 16384, 32768, 131072};
    static const double writes_s[] = {10, 60, 300}, restarts_s[] = {300, 1200},
                        every_s[] = {0, 600, 3600};
    int cases = 0;
    for (int32_t i = 0; i < 4 * 5 * 3 * 2 * 3; i++) {
        RhTrainingRun run = llama_3();
        run.mtbf_s = DAY_S * 1000 * 8 / per_1000_node_days[i % 4] / gpus[i / 4 % 5];
        run.checkpoint =
            (RhCheckpointTimes){.every_s = every_s[i / 120], .write_s = writes_s[i / 20 % 3]};
        run.startup_s = restarts_s[i / 60 % 2];
        run.detection_s = i % 3 == 0 ? 0 : 90;
        run.work_s = 400 * run.mtbf_s;
        run.least = run.most = 100;
        RhIntervalProblem p = {run.mtbf_s, run.checkpoint.write_s, run.detection_s, run.startup_s};
        double work_s =
            run.checkpoint.every_s > 0 ? run.checkpoint.every_s : rh_interval_best_s(&p);
        double exact = rh_interval_goodput_frac(&p, work_s);
        if (exact < 0.05) /* makes next to no progress */
            continue;
        run.work_s = work_s * ceil(run.work_s * exact / work_s);
        RhRunResult r = replicated(&run);
        double apart = fabs(r.ettr_frac / exact - 1);
        CU_ASSERT_TRUE(apart < 0.005 || apart < 1.7 * r.half_frac); /* 3.3 standard errors */
        cases++;
    }
    CU_ASSERT_TRUE(cases >= 180);
}

static void where_the_time_went_sums_to_the_time(void)
{
    for (const RhRunPolicy *const *policy = rh_run_policies(); *policy; policy++) {
        RhTrainingRun run = llama_3();
        run.policy = *policy;
        run.spares_endless = false;
        run.hot_spares = (*policy)->takes_spares ? 8 : 0;
        run.repair_s = DAY_S;
        run.detection_s = 120;
        run.reshape_s = 60;
        run.memory_every_s = 60;
        run.memory_read_s = 5;
        run.checkpoint.drain_s = 200;
        run.checkpoint.slow_frac = 0.05;
        for (int32_t i = 0; i < 20; i++) {
            RhRunOutcome out = rh_run_simulate(&run, run.checkpoint.every_s, i);
            double sum = 0;
            for (int k = 0; k < RH_RUN_TIMES_LAST; k++) {
                CU_ASSERT_TRUE(out.spent_s[k] >= -1e-6 * out.time_s);
                sum += out.spent_s[k];
            }
            CU_ASSERT_FALSE(out.stuck);
            CU_ASSERT_DOUBLE_EQUAL(sum, out.time_s, 1e-9 * out.time_s);
            CU_ASSERT_DOUBLE_EQUAL(out.spent_s[RH_RUN_COMPUTE], run.work_s, 1e-9 * run.work_s);
        }
    }
}

/* A segment in one piece, and cut anywhere: work done never decreases, and its time is the sum of its parts. */
static void a_segment_is_the_same_whole_and_cut(void)
{
    RhRunSegment segment = {.every_s = 100,
                            .write_s = 7,
                            .drain_s = 30,
                            .slow_frac = 0.2,
                            .speed_frac = 0.5,
                            .left_s = 450,
                            .position_s = 40};
    /* 60/0.5 + 7, then three of 100/0.5 + 6 + 7, then 50/0.5 + 6 + 7, and the last one drains */
    CU_ASSERT_DOUBLE_EQUAL(rh_run_segment_length_s(&segment), 127 + 3 * 213.0 + 113 + 30, 1e-9);
    double done_s = 0;
    for (double t = 0; t < rh_run_segment_length_s(&segment); t += 0.5) {
        RhSegmentState s = rh_run_segment_after(&segment, t);
        CU_ASSERT_TRUE(s.safe_s + s.position_s >= done_s - 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(s.checkpoint_s + s.compute_s + s.open_s, t, 1e-9);
        done_s = s.safe_s + s.position_s;
        double next_s = rh_run_segment_next_safe_s(&segment, t);
        CU_ASSERT_TRUE(next_s >= t &&
                       rh_run_segment_after(&segment, next_s + 1e-9).safe_s > s.safe_s - 1e-9);
    }
    CU_ASSERT_TRUE(
        rh_run_segment_after(&segment, rh_run_segment_length_s(&segment) + 1e-9).finished);
    CU_ASSERT_DOUBLE_EQUAL(rh_run_segment_after(&segment, 127 + 29.9).safe_s, 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rh_run_segment_after(&segment, 127 + 30.1).safe_s, 100, 1e-9);
}

/* Time between failures at sizes of the paper, and Llama 3's count. Source: arXiv 2410.21680; The Llama 3
 * Herd of Models, table 5. */
static void published_rates_give_the_published_times(void)
{
    const RhFailureRates *rsc = rh_failure_rates_by_name("meta-rsc-1");
    CU_ASSERT_DOUBLE_EQUAL(rh_failure_rates_mtbf_s(rsc, 16384) / HOUR_S, 1.8, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(rh_failure_rates_mtbf_s(rsc, 131072) / HOUR_S, 0.23, 0.005);
    RhTrainingRun run = llama_3();
    CU_ASSERT_DOUBLE_EQUAL(54 * DAY_S / run.mtbf_s, 419, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(run.mtbf_s / 60, 185.6, 0.05);
}

/* FT-HSDP: a failure every 18 min and 44 % say that each costs 23 min; 10 min each would be 64 %. */
static void what_a_goodput_says_of_each_failure(void)
{
    CU_ASSERT_DOUBLE_EQUAL(rh_interval_lost_most_s(18 * 60, 0.44) / 60, 23, 0.2);
    CU_ASSERT_DOUBLE_EQUAL(18.0 / (18 + 10), 0.64, 0.005);
    /* Llama 3: 466 interruptions in 54 days and more than 90 %. Every half hour a checkpoint of 30 s: of
     * what each may cost, less than ten minutes are left for detection and restart, and less than one. */
    double mtbf_s = 54 * DAY_S / 466, most_s = rh_interval_lost_most_s(mtbf_s, 0.9);
    CU_ASSERT_DOUBLE_EQUAL(most_s / 60, 18.5, 0.1);
    for (double down_s = 0; down_s <= 1200; down_s += 60) {
        RhIntervalProblem p = {mtbf_s, 30, down_s, 0};
        double best = rh_interval_goodput_frac(&p, rh_interval_best_s(&p));
        CU_ASSERT_TRUE(down_s < 600 || best < 0.9);
        CU_ASSERT_TRUE(down_s > 240 || best > 0.9);
        CU_ASSERT_TRUE(down_s < 60 || rh_interval_goodput_frac(&p, 1800) < 0.9);
    }
    RhIntervalProblem half_hour = {185.6 * 60, 30, 0, 300}, ten_minutes = {185.6 * 60, 30, 0, 600};
    CU_ASSERT_DOUBLE_EQUAL(rh_interval_goodput_frac(&half_hour, 1800), 0.881, 0.0005);
    CU_ASSERT_DOUBLE_EQUAL(rh_interval_goodput_frac(&ten_minutes, 600), 0.877, 0.0005);
}

/* A Meta-like run of reliability-economics: 2,048 nodes and 16 idle spares, 6 min between checkpoints that take
 * 0.003 h of them, found after 0.033 h, restarted in 0.25 h: 0.865. Without detection and reload it would be 0.947. */
static void a_run_without_detection_is_too_good(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = HOUR_S / (1.58e-4 * 2048);
    run.policy = rh_run_policy_by_name("spares");
    run.spares_endless = false;
    run.hot_spares = 16;
    run.repair_s = 5 * HOUR_S;
    run.checkpoint = (RhCheckpointTimes){.every_s = 0.097 * HOUR_S, .write_s = 0.003 * HOUR_S};
    run.detection_s = 0.033 * HOUR_S;
    run.startup_s = 0.25 * HOUR_S;
    double real = replicated(&run).goodput_frac;
    CU_ASSERT_DOUBLE_EQUAL(real, 0.865, 0.005);
    run.detection_s = 0;
    double undetected = replicated(&run).goodput_frac;
    CU_ASSERT_TRUE(undetected > 0.865 + 0.005);
    run.startup_s = 0;
    double impossible = replicated(&run).goodput_frac;
    CU_ASSERT_DOUBLE_EQUAL(impossible, 0.947, 0.003);
    CU_ASSERT_TRUE(fabs(impossible - 0.865) > 0.005);
}

static void policies_order_as_they_must(void)
{
    RhTrainingRun run = llama_3();
    run.spares_endless = false;
    run.repair_s = DAY_S;
    run.detection_s = 120;
    run.reshape_s = 30;
    run.memory_every_s = 10;
    run.memory_read_s = 5;
    double ettr[5];
    static const char *const names[] = {"restart", "spares", "memory", "shrink", "groups"};
    for (int i = 0; i < 5; i++) {
        run.policy = rh_run_policy_by_name(names[i]);
        run.hot_spares = run.policy->takes_spares ? 64 : 0;
        ettr[i] = replicated(&run).ettr_frac;
    }
    CU_ASSERT_DOUBLE_EQUAL(ettr[1], ettr[0], 1e-3); /* a pool that is never empty */
    CU_ASSERT_TRUE(ettr[2] > ettr[1] && ettr[4] > ettr[1] && ettr[4] > ettr[3]);
    run.policy = rh_run_policy_by_name("spares");
    run.hot_spares = 1;
    CU_ASSERT_TRUE(replicated(&run).ettr_frac < ettr[1]);
    run.hot_spares = 0;
    run.cold_spares = 64;
    run.swap_s = 600;
    double cold = replicated(&run).ettr_frac;
    CU_ASSERT_TRUE(cold < ettr[1]);
    CU_ASSERT_DOUBLE_EQUAL(replicated(&run).goodput_frac, cold,
                           1e-12); /* idle cold ones are not paid */
}

/* The number of failures that each law draws is the one that its mean says. */
static void laws_keep_the_mean(void)
{
    RhTrainingRun run = llama_3();
    double expected = replicated(&run).failures.mean;
    run.law = RH_LAW_BAD_NODES;
    run.bad_frac = 0.03;
    run.bad_times = 10;
    CU_ASSERT_DOUBLE_EQUAL(replicated(&run).failures.mean, expected, 0.15 * expected);
    run.law = RH_LAW_WEIBULL;
    run.weibull_shape = 1; /* exponential */
    CU_ASSERT_DOUBLE_EQUAL(replicated(&run).failures.mean, expected, 0.02 * expected);
    run.weibull_shape = 0.7; /* new nodes fail more */
    CU_ASSERT_TRUE(replicated(&run).failures.mean > 1.1 * expected);
    static const RhTimedFailure trace[] = {{1000, -1}, {5000, 0}, {5001, -1}, {90000, 1}};
    run.law = RH_LAW_TRACE;
    run.trace = trace;
    run.trace_count = 4;
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(r.failures.mean >= 3 && r.failures.mean <= 4 && r.time_s.p10 == r.time_s.p90);
}

static void bad_runs_are_refused(void)
{
    static const RhTimedFailure backwards[] = {{100, -1}, {50, -1}};
    RhTrainingRun run = llama_3();
    run.mtbf_s = 0;
    expect_error(&run, RH_ERROR_USAGE);
    run = llama_3();
    run.policy = rh_run_policy_by_name("spares");
    run.hot_spares = 2049;
    expect_error(&run, RH_ERROR_USAGE);
    run = llama_3();
    run.law = RH_LAW_TRACE;
    run.trace = backwards;
    run.trace_count = 2;
    expect_error(&run, RH_ERROR_INPUT);
    run = llama_3();
    run.work_s = 1e24; /* seconds */
    expect_error(&run, RH_ERROR_USAGE);
    run = llama_3();
    run.mtbf_s = 60; /* and 300 s to restart */
    expect_error(&run, RH_ERROR_NO_ANSWER);
    run.policy = rh_run_policy_by_name("spares");
    run.spares_endless = false;
    run.hot_spares = 8;
    run.repair_s = 10;
    run.work_s = DAY_S;
    run.least = run.most = 2;
    expect_error(&run, RH_ERROR_NO_ANSWER);
    run.checkpoint.every_s = 0; /* nor does any interval help */
    expect_error(&run, RH_ERROR_NO_ANSWER);
}

/* Components with times of their own: the closed form takes their mean, and the drawn runs agree. */
static void components_have_their_own_times(void)
{
    RhFailureRates rates = {.name = "two", .about = "", .components_count = 2};
    rates.components[0] = (RhFailureComponent){.name = "loud",
                                               .per_gpu_hour = {.value = 3e-5},
                                               .detection = {true, 5},
                                               .diagnosis = {true, 60}};
    rates.components[1] =
        (RhFailureComponent){.name = "silent", .per_gpu_hour = {.value = 1e-5}, .nodes_away = 4};
    RhTrainingRun run = llama_3();
    run.rates = &rates;
    run.mtbf_s = 2 * HOUR_S;
    run.detection_s = 1800;
    CU_ASSERT_DOUBLE_EQUAL(rh_run_down_s(&run), 0.75 * 65 + 0.25 * 1800, 1e-9);
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(fabs(r.ettr_frac / r.exact_goodput_frac - 1) < 1.7 * r.half_frac);
    CU_ASSERT_TRUE(r.spent_s[RH_RUN_DIAGNOSIS] > 0);
    /* four nodes leave at once: the copy in a neighbour's memory is gone, and of five spares one is left */
    run.memory_read_s = 1;
    run.memory_every_s = 10;
    run.repair_s = DAY_S;
    rates.components[0].per_gpu_hour.value = 1e-12;
    run.policy = rh_run_policy_by_name("memory");
    double both_gone = replicated(&run).ettr_frac;
    run.policy = rh_run_policy_by_name("restart");
    CU_ASSERT_DOUBLE_EQUAL(both_gone, replicated(&run).ettr_frac, 1e-3);
    run.policy = rh_run_policy_by_name("spares");
    run.spares_endless = false;
    run.hot_spares = 5;
    run.work_s = 4 * run.mtbf_s;
    CU_ASSERT_TRUE(replicated(&run).spent_s[RH_RUN_WAIT] > 0.1 * DAY_S);
}

/* A cause that is missed one time in q brings 1/(1-q) failures, each with its detection. Lablup: chains of
 * automatic retries succeed 33.3 % of the time. Source: arXiv:2605.09370. */
static void missed_causes_come_again(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = 12 * HOUR_S;
    run.detection_s = 100;
    double once = replicated(&run).failures.mean;
    run.missed_frac = 1 - 0.333;
    RhRunResult r = replicated(&run);
    CU_ASSERT_DOUBLE_EQUAL(r.failures.mean, once / 0.333, 0.03 * once / 0.333);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_DETECTION], 100 * r.failures.mean, 1);
}

/* Nothing fails: each stop costs a checkpoint, its length and a restart, and no work. */
static void planned_stops_lose_no_work(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = 1e15;
    run.work_s = 10 * DAY_S;
    run.stop_every_s = DAY_S;
    run.stop_s = 2 * HOUR_S;
    RhRunResult r = replicated(&run);
    double stops = r.spent_s[RH_RUN_PLANNED] / run.stop_s;
    CU_ASSERT_DOUBLE_EQUAL(stops, floor(r.time_s.mean / DAY_S), 1e-6);
    CU_ASSERT_TRUE(stops >= 10);
    CU_ASSERT_EQUAL(r.spent_s[RH_RUN_LOST], 0);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_RESTART], stops * 300, 1e-6);
    run.stop_s = 2 * DAY_S;
    expect_error(&run, RH_ERROR_USAGE);
}

/* Tuning goes before everything else, and is paid for by all nodes. Source of what it stands for: Li et al. 2020
 * (AdaTune, NeurIPS): learning to compile takes hours before a model runs. */
static void tuning_is_added_once(void)
{
    RhTrainingRun run = llama_3();
    run.work_s = 10 * DAY_S;
    RhRunResult without = replicated(&run);
    run.tuning_s = 20 * HOUR_S;
    RhRunResult with = replicated(&run);
    CU_ASSERT_DOUBLE_EQUAL(with.time_s.mean, without.time_s.mean + run.tuning_s, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(with.spent_s[RH_RUN_TUNING], run.tuning_s, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(with.node_s, without.node_s + run.tuning_s * run.nodes_count, 1);
    CU_ASSERT_DOUBLE_EQUAL(with.spent_s[RH_RUN_LOST], without.spent_s[RH_RUN_LOST], 1e-6);
    RH_CHECK_CLOSE(1 / with.exact_goodput_frac,
                   1 / without.exact_goodput_frac + run.tuning_s / run.work_s, 1e-12);
}

/* Four nodes, of which one is taken at 1,000 s and another comes at 5,000 s. */
static void nodes_of_a_trace_come_and_go(void)
{
    static const RhSpotEvent events[] = {{0, 1, true},   {0, 2, true},     {0, 3, true},
                                         {10, 4, true},  {1000, 2, false}, {5000, 5, true},
                                         {1e6, 5, false}};
    RhTrainingRun run = llama_3();
    run.mtbf_s = 1e15;
    run.work_s = 20000;
    run.nodes_count = 4;
    run.group_nodes = 1;
    run.spot = events;
    run.spot_count = G_N_ELEMENTS(events);
    run.checkpoint = (RhCheckpointTimes){.every_s = 300, .write_s = 10, .read_s = 20};
    run.detection_s = 40;
    RhRunResult r = replicated(&run);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_WAIT], 10 + 5000 - 1040, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_LOST], 990 - 3 * 310, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_RESTART], 220, 1e-6);
    CU_ASSERT_EQUAL(r.failures.mean, 1);
    CU_ASSERT_DOUBLE_EQUAL(r.node_s, 3 * 10 + 4 * 990 + 3 * 4000 + 4 * (r.time_s.mean - 5000),
                           1e-6);
    run.policy = rh_run_policy_by_name("shrink");
    RhRunResult less = replicated(&run);
    CU_ASSERT_TRUE(less.time_s.mean < r.time_s.mean && less.spent_s[RH_RUN_SHRUNK] > 0);
    CU_ASSERT_DOUBLE_EQUAL(less.spent_s[RH_RUN_COMPUTE], run.work_s, 1e-6);
    run.policy = rh_run_policy_by_name("groups");
    RhRunResult groups = replicated(&run);
    CU_ASSERT_TRUE(groups.time_s.mean < less.time_s.mean);
    CU_ASSERT_TRUE(groups.goodput_frac < 1); /* three nodes do not do the work of four */
    CU_ASSERT_DOUBLE_EQUAL(groups.spent_s[RH_RUN_COMPUTE], run.work_s, 1e-6);
    run.policy = rh_run_policy_by_name("restart");
    run.spot_count = 5; /* no fourth node comes */
    expect_error(&run, RH_ERROR_NO_ANSWER);
}

/* A slow GPU is there for a share of the time that a queue without end of servers is busy, 1 - e^(-lasts/every),
 * and steps are longer then; jitter makes all of them longer, and pauses add up. */
static void slow_steps_are_counted(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = 1e15;
    run.jitter_frac = 0.01;
    RhRunResult r = replicated(&run);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_SLOW], 0.01 * run.work_s, 1e-6 * run.work_s);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_COMPUTE], run.work_s, 1e-9 * run.work_s);
    run.jitter_frac = 0;
    run.stall_every_s = HOUR_S;
    run.stall_s = 36;
    CU_ASSERT_DOUBLE_EQUAL(replicated(&run).spent_s[RH_RUN_SLOW], 0.01 * run.work_s * 1800 / 1770,
                           1e-3 * run.work_s);
    run.stall_every_s = 0;
    run.slow_every_s = 4 * HOUR_S;
    run.slow_lasts_s = HOUR_S;
    run.slow_frac = 0.25;
    r = replicated(&run);
    double there = 1 - exp(-0.25), time_s = r.time_s.mean;
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_SLOW], there * 0.2 * time_s, 0.01 * time_s);
    CU_ASSERT_DOUBLE_EQUAL(r.spent_s[RH_RUN_COMPUTE], run.work_s, 1e-9 * run.work_s);
    run.slow_found_s =
        60; /* and removed at the next checkpoint, within half an hour, with a restart */
    RhRunResult found = replicated(&run);
    CU_ASSERT_TRUE(found.spent_s[RH_RUN_SLOW] < 0.6 * r.spent_s[RH_RUN_SLOW]);
    CU_ASSERT_TRUE(found.spent_s[RH_RUN_RESTART] > 0 && found.spent_s[RH_RUN_LOST] < 1e-3 * time_s);
    run.mtbf_s = 3 * HOUR_S;
    run.checkpoint.drain_s = 100;
    for (const RhRunPolicy *const *policy = rh_run_policies(); *policy; policy++) {
        run.policy = *policy;
        RhRunOutcome out = rh_run_simulate(&run, 1800, 3);
        double sum = 0;
        for (int k = 0; k < RH_RUN_TIMES_LAST; k++) {
            CU_ASSERT_TRUE(out.spent_s[k] >= -1e-6 * out.time_s);
            sum += out.spent_s[k];
        }
        CU_ASSERT_DOUBLE_EQUAL(sum, out.time_s, 1e-9 * out.time_s);
    }
}

/* The closed form holds with jitter: work between two checkpoints takes longer, the checkpoint does not. */
static void jitter_keeps_the_closed_form(void)
{
    RhTrainingRun run = llama_3();
    run.jitter_frac = 0.1;
    run.detection_s = 300;
    run.checkpoint.every_s = 0;
    RhRunResult r = replicated(&run);
    CU_ASSERT_TRUE(fabs(r.ettr_frac / r.exact_goodput_frac - 1) < 1.7 * r.half_frac);
}

/* Spans of a run lie in it, and those of a kind are as long as the time that went there. */
static void spans_are_where_the_time_went(void)
{
    RhTrainingRun run = llama_3();
    run.detection_s = 600;
    run.stop_every_s = 10 * DAY_S;
    run.stop_s = HOUR_S;
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(RhRunInterval));
    RhRunOutcome out = rh_run_simulate_spans(&run, 1800, 7, spans);
    double sum_s[RH_RUN_TIMES_LAST] = {0};
    for (guint i = 0; i < spans->len; i++) {
        const RhRunInterval *span = &g_array_index(spans, RhRunInterval, i);
        CU_ASSERT_TRUE(span->from_s >= 0 && span->to_s <= out.time_s);
        sum_s[span->what] += span->to_s - span->from_s;
    }
    static const RhRunTime whole[] = {RH_RUN_LOST, RH_RUN_DETECTION, RH_RUN_RESTART,
                                      RH_RUN_PLANNED};
    for (size_t i = 0; i < G_N_ELEMENTS(whole); i++) {
        CU_ASSERT_TRUE(sum_s[whole[i]] > 0);
        CU_ASSERT_DOUBLE_EQUAL(sum_s[whole[i]], out.spent_s[whole[i]], 1e-6 * out.time_s);
    }
}

/* Where all nodes stayed, a restart reads their drives. */
static void drives_shorten_restarts(void)
{
    RhTrainingRun run = llama_3();
    run.mtbf_s = HOUR_S;
    run.checkpoint.read_s = 600;
    double storage = replicated(&run).spent_s[RH_RUN_RESTART];
    run.checkpoint.local_read_s =
        10; /* for a quarter of Llama 3's failures: software and network */
    double local = replicated(&run).spent_s[RH_RUN_RESTART];
    CU_ASSERT_TRUE(local < 0.9 * storage && local > 0.6 * storage);
}

/* A run that takes a hundred times its work is answered where the closed form says so. */
static void a_slow_run_is_awaited(void)
{
    RhTrainingRun run = llama_3();
    run.work_s = 40 * HOUR_S;
    run.mtbf_s = 811.3;
    run.checkpoint = (RhCheckpointTimes){.every_s = HOUR_S, .write_s = 10, .read_s = 200};
    run.startup_s = 1000;
    run.detection_s = 0;
    run.least = run.most = 100;
    RhRunResult r = replicated(&run);
    CU_ASSERT_DOUBLE_EQUAL(r.exact_goodput_frac, 0.01195, 5e-6);
    CU_ASSERT_TRUE(fabs(r.ettr_frac / 0.01195 - 1) < 2 * r.half_frac);
    run.mtbf_s = 300;
    expect_error(&run, RH_ERROR_NO_ANSWER);
}

/* Hours in which kernels are tuned cost what the run's do, and nothing where no price is known. */
static void tuning_is_paid_at_the_price_of_the_run(void)
{
    static const RhSpotPrice price = {.t_s = 0, .usd_per_gpu_hour = 2.5};
    RhTrainingRun run = llama_3();
    run.least = run.most = 20;
    run.tuning_s = 20 * HOUR_S;
    CU_ASSERT_EQUAL(replicated(&run).usd_per_gpu_hour, 0);
    run.prices = &price;
    run.prices_count = 1;
    RH_CHECK_CLOSE(replicated(&run).usd_per_gpu_hour, 2.5, 1e-9);
    run.work_s = HOUR_S; /* tuned for far longer than it runs: it makes progress all the same */
    run.tuning_s = 1e6 * HOUR_S;
    CU_ASSERT_TRUE(replicated(&run).goodput_frac < 1e-5);
}

int main(void)
{
    static const RhTest tests[] = {
        {"replications_agree_with_the_closed_form", replications_agree_with_the_closed_form},
        {"where_the_time_went_sums_to_the_time", where_the_time_went_sums_to_the_time},
        {"components_have_their_own_times", components_have_their_own_times},
        {"missed_causes_come_again", missed_causes_come_again},
        {"planned_stops_lose_no_work", planned_stops_lose_no_work},
        {"tuning_is_added_once", tuning_is_added_once},
        {"nodes_of_a_trace_come_and_go", nodes_of_a_trace_come_and_go},
        {"slow_steps_are_counted", slow_steps_are_counted},
        {"jitter_keeps_the_closed_form", jitter_keeps_the_closed_form},
        {"spans_are_where_the_time_went", spans_are_where_the_time_went},
        {"drives_shorten_restarts", drives_shorten_restarts},
        {"a_slow_run_is_awaited", a_slow_run_is_awaited},
        {"a_segment_is_the_same_whole_and_cut", a_segment_is_the_same_whole_and_cut},
        {"published_rates_give_the_published_times", published_rates_give_the_published_times},
        {"what_a_goodput_says_of_each_failure", what_a_goodput_says_of_each_failure},
        {"a_run_without_detection_is_too_good", a_run_without_detection_is_too_good},
        {"policies_order_as_they_must", policies_order_as_they_must},
        {"laws_keep_the_mean", laws_keep_the_mean},
        {"bad_runs_are_refused", bad_runs_are_refused},
        {"tuning_is_paid_at_the_price_of_the_run", tuning_is_paid_at_the_price_of_the_run},
        {NULL, NULL},
    };
    return rh_test_main("training_run", tests);
}
