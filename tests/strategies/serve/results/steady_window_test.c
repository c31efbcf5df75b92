/* Rates and prices are of the steady stretch of a run: how many requests were played does not change them. */
#include <math.h>

#include "strategies/serve/results/overload_patient_clients.h"
#include "strategies/serve/results/service_metrics.h"
#include "tests/kit/serve_kit.h"

#define PRICE_USD_PER_H 2.4

/* All alike, one after another at equal gaps: what is left of chance is none. */
static RhRequests *even(int32_t count, double rate_per_s, int32_t input, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_EVEN,
                           .rate_per_s = rate_per_s,
                           .count = count,
                           .input = {input, input},
                           .output = {output, output},
                           .seed = 3};
    return rh_requests_draw(&plan);
}

static RhServiceMetrics outcome_of(const Setting *s, const RhRequests *requests,
                                   const RhClient *client, RhSteadyWindow *window)
{
    g_autoptr(RhServiceResult) r = serve(s, requests, client);
    *window = r->window;
    return rh_service_metrics(r, NULL);
}

static void a_price_does_not_depend_on_the_sample(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=2");
    s.platform->price_usd_per_gpu_hour.value = PRICE_USD_PER_H;
    double rate = 20, usd_per_s = 2 * PRICE_USD_PER_H / 3600, joules = 0;
    for (int32_t count = 500; count <= 8000; count *= 4) {
        g_autoptr(RhRequests) requests = even(count, rate, 1000, 200);
        RhSteadyWindow w;
        RhServiceMetrics o = outcome_of(&s, requests, &(RhClient){0}, &w);
        CU_ASSERT_TRUE(w.steady && w.t_begin_s > 0);
        CU_ASSERT_TRUE(w.t_begin_s + w.duration_s < o.duration_s);
        RH_CHECK_CLOSE(o.request_rate_per_s, rate, 1e-2);
        RH_CHECK_CLOSE(o.tokens_per_s, rate * 200, 1e-2);
        RH_CHECK_CLOSE(o.tokens_per_s_per_gpu, rate * 100, 1e-2);
        RH_CHECK_CLOSE(o.goodput_per_s, rate, 1e-2);
        RH_CHECK_CLOSE(o.cost_usd_per_token, usd_per_s / (rate * 200), 1e-2);
        RH_CHECK_CLOSE(o.cost_usd_per_token_in, usd_per_s / (rate * 1000), 1e-2);
        RH_CHECK_CLOSE(o.cost_usd_per_token_both, usd_per_s / (rate * 1200), 1e-2);
        RH_CHECK_CLOSE(o.energy_j_per_token, joules > 0 ? joules : o.energy_j_per_token, 2e-2);
        joules = o.energy_j_per_token;
    }
    close_setting(&s);
}

/* Clients of a closed loop are all there until the last requests: benchmarks count the run. */
static void a_closed_loop_counts_as_a_whole(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) requests = even(200, 1, 500, 100);
    RhSteadyWindow w;
    RhServiceMetrics o = outcome_of(&s, requests, &(RhClient){.at_once = 8}, &w);
    CU_ASSERT_FALSE(w.steady);
    RH_CHECK_CLOSE(w.duration_s, o.duration_s, 1e-12);
    RH_CHECK_CLOSE(o.tokens_per_s, 200 * 100 / o.duration_s, 1e-9);
    RH_CHECK_CLOSE(o.sequences_mean, 8, 0.1);
    close_setting(&s);
}

/* Most give up, the last of them long after the last answer: the run goes on until then. */
static void who_gives_up_counts(void)
{
    static const struct {
        const char *deployment;
        double rate_per_s;
        RhClient client;
    } rows[] = {{"tp1", 20, {.ttft_patience_s = 0.2}},
                {"tp1", 10, {.e2e_patience_s = 0.3}},
                {"tp1,replicas=2,scale=ongoing", 40, {.ttft_patience_s = 0.15}}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", rows[i].deployment);
        g_autoptr(RhRequests) requests = drawn(300, rows[i].rate_per_s, 4096, 16);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &rows[i].client);
        const RhRequestRecord *last = at(r, r->served->len - 1);
        RhServiceMetrics o = rh_service_metrics(r, NULL);
        CU_ASSERT_TRUE(o.timed_out_count > 0);
        CU_ASSERT_TRUE(r->duration_s >= last->t_arrive_s - at(r, 0)->t_arrive_s);
        CU_ASSERT_TRUE(o.goodput_per_s <= 1.3 * rows[i].rate_per_s * o.slo_met_frac);
        CU_ASSERT_TRUE(r->window.busy_frac >= 0 && r->window.busy_frac <= 1);
        close_setting(&s);
    }
}

/* A server away for all but the first second. */
static void an_outage_counts(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) requests = drawn(200, 10, 512, 64);
    g_autoptr(GArray) list = rh_failures_parse("0@1s", NULL);
    RhFailures failures = {.list = list, .restart_s = 100, .retries = 5};
    RhClient client = {.failures = &failures, .e2e_patience_s = 1};
    g_autoptr(RhServiceResult) r = serve(&s, requests, &client);
    RhServiceMetrics o = rh_service_metrics(r, NULL);
    double last_s = at(r, 199)->t_arrive_s - at(r, 0)->t_arrive_s;
    CU_ASSERT_TRUE(o.completed_count > 0 && o.completed_count < 20);
    RH_CHECK_CLOSE(r->duration_s, last_s + 1, 1e-9);
    RH_CHECK_CLOSE(o.goodput_per_s, (double)o.completed_count / (last_s + 1), 1e-9);
    CU_ASSERT_TRUE(r->window.busy_frac < 0.1);
    close_setting(&s);
}

/* Rates are 0, and not per 0 seconds, if nothing was answered and replicas come and go. */
static void nothing_answered_is_nothing(void)
{
    static const char *const deployments[] = {"tp1", "tp1,scale=ongoing"};
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        Setting s = setting_of("gpt2", "h100-sxm:1x1", deployments[i]);
        for (int32_t count = 1; count <= 20; count += 19) {
            g_autoptr(RhRequests) requests = even(count, 5, 1000, 100); /* too long for it */
            g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
            RhServiceMetrics o = rh_service_metrics(r, NULL);
            CU_ASSERT_EQUAL(o.refused_count, count);
            CU_ASSERT_EQUAL(o.tokens_per_s_per_gpu, 0);
            CU_ASSERT_EQUAL(o.sequences_mean, 0);
            CU_ASSERT_EQUAL(r->window.busy_frac, 0);
            CU_ASSERT_TRUE(isfinite(r->window.energy_j));
        }
        close_setting(&s);
    }
}

/* Prompts read by another pool continue at once: a request that comes alone waits for none after
 * it. */
static void static_batches_of_two_pools_wait_for_nobody(void)
{
    double answer_s[2];
    for (int i = 0; i < 2; i++) {
        Setting s = setting_of("mistral-7b", "dgx-h100:2", "server=static,tp2/tp2");
        g_autoptr(RhRequests) requests = even(20, i == 0 ? 0.1 : 1, 64, 20);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        RhServiceMetrics o = rh_service_metrics(r, NULL);
        CU_ASSERT_EQUAL(o.completed_count, 20);
        answer_s[i] = o.metrics[RH_METRIC_E2E].p99.value;
        close_setting(&s);
    }
    RH_CHECK_CLOSE(answer_s[0], answer_s[1], 1e-9);
}

/* Overload is reported of a queue that grows as long as requests come; not of one that lasts, nor
 * of requests that come at once. */
static void overload_is_said(void)
{
    static const struct {
        double rate_per_s;
        int32_t count;
        bool overloaded;
    } rows[] = {{1000, 500, true}, {60, 2000, true}, {15, 2000, false}, {2, 300, false}};
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhRequests) requests = drawn(rows[i].count, rows[i].rate_per_s, 1024, 256);
        RhSteadyWindow w;
        RhServiceMetrics o = outcome_of(&s, requests, &(RhClient){0}, &w);
        CU_ASSERT_EQUAL(o.overloaded, rows[i].overloaded);
        RH_CHECK_CLOSE(o.offered_per_s, rows[i].rate_per_s, 0.1);
        CU_ASSERT_EQUAL(o.request_rate_per_s < 0.8 * rows[i].rate_per_s, rows[i].overloaded);
        rh_requests_arrive(requests, &(RhRequestsPlan){.arrival = RH_ARRIVAL_BURST});
        CU_ASSERT_FALSE(outcome_of(&s, requests, &(RhClient){0}, &w).overloaded);
    }
    close_setting(&s);
}

/* While a service fills up, more requests come than end. Those under way count by what is made of their answers, so that
 * rates of requests and of tokens agree. */
static void rates_of_requests_and_of_tokens_agree(void)
{
    static const struct {
        double rate_per_s;
        int32_t count;
        RhClient client;
    } rows[] = {{19, 500, {0}},
                {19, 4000, {0}},
                {19, 100, {0}},
                {60, 4000, {.e2e_patience_s = 30}},
                {60, 1000, {.ttft_patience_s = 0.5}}};
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhRequests) requests = even(rows[i].count, rows[i].rate_per_s, 1024, 256);
        RhSteadyWindow w;
        RhServiceMetrics o = outcome_of(&s, requests, &rows[i].client, &w);
        CU_ASSERT_TRUE(o.steady == (rows[i].count != 100) || rows[i].client.ttft_patience_s > 0);
        RH_CHECK_CLOSE(o.tokens_per_s, 256 * o.request_rate_per_s, 1e-9);
        if (o.steady && o.timed_out_count == 0)
            RH_CHECK_CLOSE(o.request_rate_per_s, 19, 0.02);
    }
    close_setting(&s);
}

/* The reported number of requests is enough for a steady window; where there is one, none is
 * reported. */
static void enough_requests_have_a_steady_stretch(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    for (int32_t count = 20; count <= 100; count *= 5) {
        const double rate = count / 2.0;
        RhSteadyWindow w;
        g_autoptr(RhRequests) few = even(count, rate, 512, 64);
        RhServiceMetrics o = outcome_of(&s, few, &(RhClient){0}, &w);
        CU_ASSERT_FALSE(o.steady || o.overloaded);
        CU_ASSERT_TRUE(o.requests_enough > count && o.requests_enough < 40000);
        g_autoptr(RhRequests) more = even((int32_t)o.requests_enough, rate, 512, 64);
        RhServiceMetrics steady = outcome_of(&s, more, &(RhClient){0}, &w);
        CU_ASSERT_TRUE(steady.steady);
        CU_ASSERT_EQUAL(steady.requests_enough, 0);
        RH_CHECK_CLOSE(steady.request_rate_per_s, rate, 0.02);
        /* of clients that wait for their answers, however many there are, nothing is said */
        CU_ASSERT_EQUAL(outcome_of(&s, few, &(RhClient){.at_once = 4}, &w).requests_enough, 0);
    }
    close_setting(&s);
}

/* Requests that are over before the first answer is: the rate that they come at is that of tokens, and prices are of it. */
static void rates_are_those_that_requests_come_at(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=2");
    s.platform->price_usd_per_gpu_hour.value = PRICE_USD_PER_H;
    g_autoptr(RhRequests) requests = even(200, 100, 512, 256);
    RhSteadyWindow w;
    RhServiceMetrics o = outcome_of(&s, requests, &(RhClient){0}, &w);
    CU_ASSERT_FALSE(o.steady);
    double tokens_per_s = o.tokens_per_s;
    rh_service_metrics_at_rate(&o, 10);
    CU_ASSERT_TRUE(tokens_per_s < 0.8 * 100 * 256);
    RH_CHECK_CLOSE(o.request_rate_per_s, 10, 1e-9);
    RH_CHECK_CLOSE(o.tokens_per_s, 10 * 256, 1e-9);
    RH_CHECK_CLOSE(o.tokens_per_s_per_gpu, 5 * 256, 1e-9);
    RH_CHECK_CLOSE(o.cost_usd_per_request, 2 * PRICE_USD_PER_H / 3600 / 10, 1e-9);
    RH_CHECK_CLOSE(o.cost_usd_per_token, o.cost_usd_per_request / 256, 1e-9);
    close_setting(&s);
}

/* Clients that give up hide a queue that would grow without end; not of a service that keeps up with them, however few of
 * them wait for it. */
static void overload_is_said_of_clients_that_give_up(void)
{
    static const struct {
        double rate_per_s;
        RhClient client;
        bool overloaded;
    } rows[] = {{60, {.e2e_patience_s = 30}, true},
                {60, {.ttft_patience_s = 0.2}, true},
                {10, {.ttft_patience_s = 0.05}, false},
                {10, {.e2e_patience_s = 2}, false},
                {60, {.at_once = 64, .e2e_patience_s = 2}, false}};
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhRequests) requests = drawn(3000, rows[i].rate_per_s, 1024, 256);
        RhSteadyWindow w;
        RhServiceMetrics o = outcome_of(&s, requests, &rows[i].client, &w);
        CU_ASSERT_TRUE(o.timed_out_count > 100);
        CU_ASSERT_FALSE(o.overloaded);
        rh_service_judge_patient(&o, service, requests, &rows[i].client);
        CU_ASSERT_EQUAL(o.overloaded, rows[i].overloaded);
        CU_ASSERT_TRUE(rows[i].client.at_once > 0 || o.offered_per_s > 0);
    }
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a price does not depend on the sample", a_price_does_not_depend_on_the_sample},
        {"a closed loop counts as a whole", a_closed_loop_counts_as_a_whole},
        {"who gives up counts", who_gives_up_counts},
        {"an outage counts", an_outage_counts},
        {"nothing answered is nothing", nothing_answered_is_nothing},
        {"static batches of two pools wait for nobody",
         static_batches_of_two_pools_wait_for_nobody},
        {"overload is said", overload_is_said},
        {"overload is said of clients that give up", overload_is_said_of_clients_that_give_up},
        {"rates of requests and of tokens agree", rates_of_requests_and_of_tokens_agree},
        {"enough requests have a steady stretch", enough_requests_have_a_steady_stretch},
        {"rates are those that requests come at", rates_are_those_that_requests_come_at},
        {0}};
    return rh_test_main("steady_window", tests);
}
