/* Figures of a service's records, held to closed forms; intervals to how often they hold. */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/serve/results/service_metrics.h"
#include "tests/kit/testkit.h"

static RhServiceResult *result_new(int count)
{
    RhServiceResult *result = g_new0(RhServiceResult, 1);
    result->served = g_array_new(FALSE, TRUE, sizeof(RhRequestRecord));
    g_array_set_size(result->served, (guint)count);
    result->gpus = 4;
    return result;
}

/* The i-th of a hundred: sent at i, first token after 0.01 (i + 1) s, ten more of 20 ms each. */
static RhServiceResult *hundred(void)
{
    RhServiceResult *result = result_new(100);
    for (int i = 0; i < 100; i++) {
        RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        s->outcome = RH_SERVED_DONE;
        s->t_arrive_s = i;
        s->t_admit_s = i + 0.002;
        s->t_first_s = i + 0.01 * (i + 1);
        s->t_stall_s = 0.001;
        s->t_transfer_s = 0.003;
        s->t_end_s = s->t_first_s + 0.2;
        s->tbt_max_s = 0.03;
        s->input_tokens = 100;
        s->output_tokens = 11;
    }
    result->gaps[rh_gap_bin(0.02)] = 900;
    result->gaps[rh_gap_bin(0.03)] = 100;
    result->duration_s = 110;
    result->window = (RhSteadyWindow){.duration_s = 110, .gpu_s = 440};
    return result;
}

static void figures_are_those_of_the_definitions(void)
{
    g_autoptr(RhServiceResult) result = hundred();
    RhServiceMetrics out = rh_service_metrics(result, NULL);
    CU_ASSERT_EQUAL(out.completed_count, 100);
    CU_ASSERT_EQUAL(out.tokens_in, 10000);
    CU_ASSERT_EQUAL(out.tokens_out, 1100);
    RH_CHECK_CLOSE(out.tokens_per_s, 10, 1e-12);
    RH_CHECK_CLOSE(out.tokens_per_s_per_gpu, 2.5, 1e-12);
    RH_CHECK_CLOSE(out.request_rate_per_s, 100 / 110.0, 1e-12);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TTFT].mean.value, 0.505, 1e-9);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TTFT].p50.value, 0.505, 1e-9); /* as numpy has it */
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TTFT].p90.value, 0.901, 1e-9);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TTFT].p99.value, 0.9901, 1e-9);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TPOT].p90.value, 0.02, 1e-9);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_E2E].mean.value, 0.705, 1e-9);
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TBT].mean.value, 0.021, 0.005); /* bins of 1 % */
    RH_CHECK_CLOSE(out.metrics[RH_METRIC_TBT].p99.value, 0.03, 0.005);
    CU_ASSERT_EQUAL(out.metrics[RH_METRIC_TBT].count, 1000);
    CU_ASSERT_TRUE(isnan(out.metrics[RH_METRIC_TTFT].p99.high)); /* a hundred do not tell */
}

static void the_parts_of_the_first_token_sum_to_it(void)
{
    g_autoptr(RhServiceResult) result = hundred();
    RhServiceMetrics out = rh_service_metrics(result, NULL);
    double sum = 0;
    for (int p = 0; p < RH_TTFT_LAST; p++)
        sum += out.ttft_parts[p].mean.value;
    RH_CHECK_CLOSE(sum, out.metrics[RH_METRIC_TTFT].mean.value, 1e-9);
    RH_CHECK_CLOSE(out.ttft_parts[RH_TTFT_QUEUE].mean.value, 0.002, 1e-6);
    RH_CHECK_CLOSE(out.ttft_parts[RH_TTFT_TRANSFER].mean.value, 0.003, 1e-9);
}

static void a_single_token_has_no_gap(void)
{
    g_autoptr(RhServiceResult) result = hundred();
    for (guint i = 0; i < 100; i++)
        g_array_index(result->served, RhRequestRecord, i).output_tokens = 1;
    memset(result->gaps, 0, sizeof result->gaps);
    RhServiceMetrics out = rh_service_metrics(result, NULL);
    CU_ASSERT_EQUAL(out.metrics[RH_METRIC_TPOT].count, 0);
    CU_ASSERT_TRUE(isnan(out.metrics[RH_METRIC_TPOT].mean.value));
    CU_ASSERT_TRUE(isnan(out.metrics[RH_METRIC_TBT].p99.value));
    RhSlos slos = {0};
    CU_ASSERT_TRUE(rh_slos_parse(&slos, RH_METRIC_TPOT, "p99<1ms", NULL));
    CU_ASSERT_TRUE(rh_slos_parse(&slos, RH_METRIC_TBT, "p99<1ms", NULL));
    CU_ASSERT_TRUE(rh_service_metrics(result, &slos).slos_kept_surely);
}

static void what_was_refused_breaks_levels_and_no_mean(void)
{
    g_autoptr(RhServiceResult) result = hundred();
    RhSlos slos = {0};
    CU_ASSERT_TRUE(rh_slos_parse(&slos, RH_METRIC_TTFT, "p90<955ms,mean<506ms", NULL));
    RhServiceMetrics all = rh_service_metrics(result, &slos);
    CU_ASSERT_TRUE(all.slos_kept);
    CU_ASSERT_FALSE(all.slos_kept_surely);        /* 95 of 100 may be luck */
    RH_CHECK_CLOSE(all.slo_met_frac, 0.5, 1e-12); /* 50 have less than 506 ms */
    for (guint i = 0; i < 20; i++) {
        RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i * 5);
        s->outcome = i % 2 ? RH_SERVED_REFUSED : RH_SERVED_UNFINISHED;
        s->t_first_s = s->t_end_s = (double)NAN;
    }
    RhServiceMetrics fewer = rh_service_metrics(result, &slos);
    CU_ASSERT_EQUAL(fewer.refused_count, 10);
    CU_ASSERT_EQUAL(fewer.unfinished_count, 10);
    CU_ASSERT_EQUAL(fewer.completed_count, 80);
    CU_ASSERT_FALSE(fewer.verdicts[0].kept);
    RH_CHECK_CLOSE(fewer.verdicts[0].measured, 0.76, 1e-12);
    CU_ASSERT_FALSE(isnan(fewer.metrics[RH_METRIC_TTFT].mean.value));
}

/* Requests took 10 ms to 1 s to the first token, and as long again, as they are made here. */
static void a_level_is_kept_with_the_allowance(void)
{
    g_autoptr(RhServiceResult) result = hundred();
    RhSlos slos = {0};
    CU_ASSERT_TRUE(rh_slos_parse(&slos, RH_METRIC_TTFT, "mean<600ms,p50<1.05s", NULL));
    RhServiceMetrics bare = rh_service_metrics(result, &slos);
    CU_ASSERT_TRUE(bare.slos_kept_surely);
    RH_CHECK_CLOSE(bare.verdicts[0].allowed, bare.verdicts[0].measured, 1e-12);
    slos.allowance.tpot_frac = 9; /* of another measure */
    CU_ASSERT_TRUE(rh_service_metrics(result, &slos).slos_kept_surely);
    slos.allowance.ttft_frac = 0.25;
    RhServiceMetrics aired = rh_service_metrics(result, &slos);
    RH_CHECK_CLOSE(aired.verdicts[0].allowed, 1.25 * bare.verdicts[0].measured, 1e-9);
    CU_ASSERT_TRUE(aired.verdicts[0].kept && aired.verdicts[0].kept_likely);
    CU_ASSERT_FALSE(aired.verdicts[0].kept_allowed || aired.verdicts[0].kept_surely);
    CU_ASSERT_FALSE(aired.slos_kept_allowed);
    CU_ASSERT_TRUE(aired.verdicts[1].kept_surely); /* 84 of 100 are within, still */
    CU_ASSERT_TRUE(rh_slos_parse(&slos, RH_METRIC_E2E, "mean<5s", NULL));
    RhSloVerdict whole = rh_service_metrics(result, &slos).verdicts[2]; /* 0.505 s, then 0.2 s */
    RH_CHECK_CLOSE(whole.allowed, 0.505 * 1.25 + 0.2 * 10, 1e-9);
    slos.allowance.ttft_frac = 1;
    CU_ASSERT_FALSE(rh_service_metrics(result, &slos).verdicts[1].kept_surely); /* 52 of 100 */
    CU_ASSERT_TRUE(rh_service_metrics(result, &slos).verdicts[1].kept_likely);
}

static void an_empty_result_has_no_figures(void)
{
    g_autoptr(RhServiceResult) result = result_new(0);
    RhServiceMetrics out = rh_service_metrics(result, NULL);
    CU_ASSERT_EQUAL(out.requests_count, 0);
    CU_ASSERT_EQUAL(out.tokens_per_s, 0);
    CU_ASSERT_TRUE(isnan(out.metrics[RH_METRIC_E2E].p50.value));
}

static const struct {
    const char *text, *read; /* NULL: refused */
} levels[] = {{"p99<5s", "ttft p99<5 s"},
              {" p99.9 <= 250ms ", "ttft p99.9<250 ms"},
              {"mean<200ms", "ttft mean<200 ms"},
              {"p99", NULL},
              {"p0<5s", NULL},
              {"p100<5s", NULL},
              {"q99<5s", NULL},
              {"p99<5", NULL},
              {"p99<0s", NULL},
              {"", NULL},
              {"p99<5s,", NULL},
              {"pinf<5s", NULL}};

static void levels_are_read_as_written(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(levels); i++) {
        RhSlos slos = {0};
        g_autoptr(GError) error = NULL;
        bool fine = rh_slos_parse(&slos, RH_METRIC_TTFT, levels[i].text, &error);
        CU_ASSERT_EQUAL(fine, levels[i].read != NULL);
        CU_ASSERT_EQUAL(slos.count, fine);
        if (!fine) {
            CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
            continue;
        }
        g_autofree char *text = rh_slo_text(&slos.list[0]);
        CU_ASSERT_STRING_EQUAL(text, levels[i].read);
    }
}

/* --- intervals --- */

#define TRIES 400
#define DRAWS 2000

/* How often the interval of TRIES samples holds the truth. `memory` 0: independent exponentials of mean
 * 1; else every one is with this probability the one before. */
static void coverage(double memory, double *mean, double *p50, double *p90)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    double held[3] = {0}, truth = -log(0.1), middle = -log(0.5);
    double values[DRAWS];
    for (int t = 0; t < TRIES; t++) {
        for (int i = 0; i < DRAWS; i++)
            values[i] = i > 0 && gsl_rng_uniform(rng) < memory ? values[i - 1]
                                                               : gsl_ran_exponential(rng, 1);
        RhServedSpread spread = rh_spread(values, DRAWS);
        held[0] += spread.mean.low <= 1 && 1 <= spread.mean.high;
        held[1] += spread.p90.low <= truth && truth <= spread.p90.high;
        held[2] += spread.p50.low <= middle && middle <= spread.p50.high;
    }
    gsl_rng_free(rng);
    *mean = held[0] / TRIES;
    *p90 = held[1] / TRIES;
    *p50 = held[2] / TRIES;
}

/* Intervals of 95 % hold the true value in 367 to 393 of 400 cases, except with a probability of
 * 0.3 %; batches of 100 are a little alike when values are. */
static void intervals_hold_the_truth_as_often_as_they_say(void)
{
    double mean = 0, p50 = 0, p90 = 0;
    coverage(0, &mean, &p50, &p90);
    CU_ASSERT_TRUE(mean >= 0.917 && mean <= 0.983);
    CU_ASSERT_TRUE(p90 >= 0.917 && p90 <= 0.995); /* widened by chance alone: a little too wide */
    CU_ASSERT_TRUE(p50 >= 0.917 && p50 <= 0.995);
    coverage(0.8, &mean, &p50, &p90);
    CU_ASSERT_TRUE(mean >= 0.9 && mean <= 0.983);
    CU_ASSERT_TRUE(p90 >= 0.9 && p90 <= 0.995);
    CU_ASSERT_TRUE(p50 >= 0.9 && p50 <= 0.995);
}

static void a_wait_is_not_less_than_nothing(void)
{
    const double waits[] = {0, 0.1}, drifts[] = {-1, 1}, one[] = {0.1};
    RhServedSpread wait = rh_spread(waits, 2), drift = rh_spread(drifts, 2),
                   lone = rh_spread(one, 1);
    CU_ASSERT_EQUAL(wait.mean.low, 0);
    CU_ASSERT_TRUE(wait.mean.high > 0.1);
    CU_ASSERT_TRUE(drift.mean.low < -1);
    CU_ASSERT_TRUE(isnan(lone.mean.low));
}

static void gaps_are_counted_to_a_hundredth(void)
{
    for (double gap_s = 2e-5; gap_s < 100; gap_s *= 1.0371)
        RH_CHECK_CLOSE(rh_gap_s(rh_gap_bin(gap_s)), gap_s, 0.0051);
}

static const RhTest tests[] = {
    {"figures are those of the definitions", figures_are_those_of_the_definitions},
    {"the parts of the first token sum to it", the_parts_of_the_first_token_sum_to_it},
    {"a single token has no gap", a_single_token_has_no_gap},
    {"what was refused breaks levels and no mean", what_was_refused_breaks_levels_and_no_mean},
    {"a level is kept with the allowance", a_level_is_kept_with_the_allowance},
    {"an empty result has no figures", an_empty_result_has_no_figures},
    {"levels are read as written", levels_are_read_as_written},
    {"intervals hold the truth as often as they say",
     intervals_hold_the_truth_as_often_as_they_say},
    {"a wait is not less than nothing", a_wait_is_not_less_than_nothing},
    {"gaps are counted to a hundredth", gaps_are_counted_to_a_hundredth},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("service_metrics", tests);
}
