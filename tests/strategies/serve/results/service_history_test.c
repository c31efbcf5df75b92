/* strategies/serve/results/service_history.h and metrics_over_time.h: what bins hold is what happened, however often they became wider. */
#include "strategies/serve/results/service_history.h"

#include <math.h>

#include "strategies/serve/results/metrics_over_time.h"
#include "tests/kit/serve_kit.h"

typedef struct {
    double sequences_s, there_s, cached_s, cached_most_frac, arrived, ended;
} Sums;

static Sums sums_of(const RhServiceHistory *h)
{
    Sums s = {0};
    for (int32_t i = 0; i < h->bins_count; i++) {
        const RhServiceBin *bin = &h->bins[i];
        s.sequences_s += bin->waiting_s + bin->running_s;
        s.there_s += bin->there_s;
        s.cached_s += bin->cached_s;
        s.cached_most_frac = fmax(s.cached_most_frac, bin->cached_most_frac);
    }
    return s;
}

/* Steps of a millisecond and of an hour: sums are kept, and the width is what the last one asks for. */
static void bins_grow_and_lose_nothing(void)
{
    RhServiceHistory *h = rh_service_history_new(1);
    double t_s = 0, expected_s = 0;
    for (int i = 1; i <= 1000; i++) {
        double step_s = i % 100 == 0 ? 3600 : 1e-3;
        rh_service_history_level(h, 0, t_s, &(RhServiceLevel){i % 7, i % 3, 0.25});
        t_s += step_s;
        expected_s += step_s * (i % 7 + i % 3);
    }
    rh_service_history_end(h, t_s);
    CU_ASSERT_DOUBLE_EQUAL(sums_of(h).sequences_s / expected_s, 1, 1e-9);
    CU_ASSERT_TRUE(h->bins_count <= RH_SERVICE_HISTORY_BINS &&
                   h->bins_count > RH_SERVICE_HISTORY_BINS / 2);
    CU_ASSERT_TRUE(h->bins_count * h->bin_s >= t_s && (h->bins_count - 1) * h->bin_s <= t_s);
    rh_service_history_free(h);
}

/* A ramp from nothing to all over ten seconds is a half in the mean, and each bin has its own
 * part. */
static void a_ramp_is_even(void)
{
    RhServiceHistory *h = rh_service_history_new(1);
    rh_service_history_level(h, 0, 0, &(RhServiceLevel){0});
    rh_service_history_ramp(h, 0, 10, 1);
    double sum_s = 0;
    for (int32_t i = 0; i < h->bins_count; i++) {
        double a_s = i * h->bin_s, b_s = fmin((i + 1) * h->bin_s, 10);
        CU_ASSERT_DOUBLE_EQUAL(h->bins[i].cached_s, (b_s - a_s) * (a_s + b_s) / 20, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(h->bins[i].cached_most_frac, b_s / 10, 1e-9);
        sum_s += h->bins[i].cached_s;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum_s, 5, 1e-9);
    rh_service_history_free(h);
}

/* Replicas that are always there are all there in each time, the last and part-filled one too, and
 * the times hold what the bins do. */
static void check_times(const RhServiceResult *result, guint requests, int32_t replicas)
{
    g_autoptr(GArray) times = rh_served_times(result, 60);
    double arrived = 0, ended = 0, t_s = 0, cached_s = 0;
    double width_s = g_array_index(times, RhMetricsOverTime, 0).t_end_s;
    CU_ASSERT_TRUE(times->len > 0 && times->len <= 60);
    for (guint i = 0; i < times->len; i++) {
        const RhMetricsOverTime *t = &g_array_index(times, RhMetricsOverTime, i);
        CU_ASSERT_DOUBLE_EQUAL(t->t_begin_s, t_s, 1e-9 * t->t_end_s);
        t_s = t->t_end_s;
        bool last = i + 1 == times->len;
        CU_ASSERT_DOUBLE_EQUAL(t->t_end_s - t->t_begin_s, width_s, last ? width_s / 2 : 1e-9 * t_s);
        CU_ASSERT_DOUBLE_EQUAL(t->replicas, replicas, 1e-6);
        arrived += t->arrived_per_s * (t->t_end_s - t->t_begin_s);
        ended += t->ended_per_s * (t->t_end_s - t->t_begin_s);
        CU_ASSERT_TRUE(!(t->p50_s[RH_METRIC_TTFT] > t->p99_s[RH_METRIC_TTFT]));
        CU_ASSERT_TRUE(t->cached_frac <= t->cached_most_frac + 1e-9);
        cached_s += t->cached_frac * t->replicas * (t->t_end_s - t->t_begin_s);
    }
    CU_ASSERT_EQUAL(t_s, result->history->t_end_s);
    CU_ASSERT_DOUBLE_EQUAL(arrived, requests, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ended, requests, 1e-6);
    CU_ASSERT_TRUE(cached_s > 0);
    CU_ASSERT_DOUBLE_EQUAL(cached_s / sums_of(result->history).cached_s, 1, 1e-6);
}

/* The sequences in a history sum to the times that requests were there (Little), and its fullest
 * moment is the reported peak; keeping a history changes nothing. A small cache preempts
 * sequences. */
static void a_history_is_of_its_requests(void)
{
    static const char *const deployments[] = {"tp1", "tp1,replicas=3,batch=16",
                                              "tp1,blocks=300,batch=64"};
    for (size_t k = 0; k < G_N_ELEMENTS(deployments); k++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployments[k]);
        g_autoptr(RhRequests) requests = drawn(400, 20, 800, 200);
        g_autoptr(RhServiceResult) plain = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) result = serve(&s, requests, &(RhClient){.history = true});
        CU_ASSERT_PTR_NULL(plain->history);
        double there_s = 0, out_s = 0, last_s = 0;
        for (guint i = 0; i < requests->list->len; i++) {
            const RhRequestRecord *served = at(result, i);
            CU_ASSERT_EQUAL(served->t_end_s, at(plain, i)->t_end_s);
            CU_ASSERT_EQUAL(served->outcome, RH_SERVED_DONE);
            there_s += served->t_end_s - s.serving.server->first_s.value - served->t_arrive_s -
                       s.serving.server->admit_s.value;
            last_s = fmax(last_s, served->t_end_s);
            out_s += served->t_out_s;
            CU_ASSERT_TRUE(served->t_out_s >= 0 &&
                           served->t_out_s <= served->t_end_s - served->t_first_s + 1e-9);
            CU_ASSERT_TRUE(served->preempted_count > 0 || served->t_out_s == 0);
        }
        Sums sums = sums_of(result->history);
        CU_ASSERT_DOUBLE_EQUAL(sums.sequences_s / there_s, 1, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(sums.cached_most_frac, result->kv_peak_frac, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(result->history->t_end_s, last_s, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(sums.there_s, last_s * s.deployment.pools[0].replicas, 1e-6);
        CU_ASSERT_EQUAL(out_s > 0, k == 2);
        check_times(result, requests->list->len, s.deployment.pools[0].replicas);
        close_setting(&s);
    }
}

static void the_slowest_come_first(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) requests = drawn(300, 20, 800, 200);
    g_autoptr(RhServiceResult) result = serve(&s, requests, &(RhClient){0});
    g_autoptr(GArray) slowest = rh_served_slowest(result, 8);
    g_autoptr(GArray) values = rh_served_values(result, RH_METRIC_E2E);
    CU_ASSERT_EQUAL(slowest->len, 8);
    CU_ASSERT_EQUAL(values->len, 300);
    for (guint i = 0; i < slowest->len; i++) {
        const RhRequestRecord *served = at(result, (guint)g_array_index(slowest, int32_t, i));
        double parts_s = served->t_end_s - served->t_first_s;
        for (int p = 0; p < RH_TTFT_LAST; p++)
            parts_s += rh_served_ttft_part_s(served, (RhTtftPart)p);
        CU_ASSERT_EQUAL(rh_served_metric_s(served, RH_METRIC_E2E),
                        g_array_index(values, double, values->len - 1 - i));
        CU_ASSERT_DOUBLE_EQUAL(parts_s, rh_served_metric_s(served, RH_METRIC_E2E), 1e-9);
    }
    close_setting(&s);
}

int main(void)
{
    return rh_test_main("service_history",
                        (RhTest[]){{"bins_grow_and_lose_nothing", bins_grow_and_lose_nothing},
                                   {"a_ramp_is_even", a_ramp_is_even},
                                   {"a_history_is_of_its_requests", a_history_is_of_its_requests},
                                   {"the_slowest_come_first", the_slowest_come_first},
                                   {0}});
}
