/* Servers that fail and clients that give up: nothing is lost from the books, and queues are what arithmetic says. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/server_failures.h"
#include "tests/kit/serve_kit.h"

static const char *const deployments[] = {
    "server=vllm,tp1,replicas=2,batch=16",   "server=sglang,tp1,replicas=2,batch=16",
    "server=trtllm,tp1,replicas=2,batch=16", "server=orca,tp1,replicas=2,batch=16",
    "server=static,tp1,replicas=2,batch=16", "tp1,replicas=2,batch=16,draft=2,accept=70",
    "tp1,batch=16/tp1,replicas=2,batch=32"};

static GArray *failing(const char *text)
{
    GArray *list = rh_failures_parse(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    return list;
}

/* Every request has an outcome; tokens made are those of answers and those made in vain; all blocks are back; parts
 * sum to the whole. */
static void check_books(const RhServiceResult *r, int32_t *timed_out, int32_t *lost,
                        int32_t *resent)
{
    int64_t answered = 0, vain = 0, read = 0, read_in_vain = 0;
    *timed_out = *lost = *resent = 0;
    for (guint i = 0; i < r->served->len; i++) {
        const RhRequestRecord *q = at(r, i);
        CU_ASSERT_TRUE(q->outcome == RH_SERVED_DONE || q->outcome == RH_SERVED_TIMED_OUT ||
                       q->outcome == RH_SERVED_LOST);
        *timed_out += q->outcome == RH_SERVED_TIMED_OUT;
        *lost += q->outcome == RH_SERVED_LOST;
        *resent += q->resent_count;
        vain += q->lost_tokens;
        read += q->read_tokens;
        read_in_vain += q->lost_prompt_tokens;
        if (q->outcome != RH_SERVED_DONE)
            continue;
        if (q->preempted_count == 0)
            CU_ASSERT_EQUAL(q->read_tokens, q->input_tokens - q->found_tokens);
        answered += q->output_tokens;
        double sum_s = 0;
        for (int p = 0; p < RH_TTFT_LAST; p++) {
            CU_ASSERT_TRUE(rh_served_ttft_part_s(q, (RhTtftPart)p) > -1e-9);
            sum_s += rh_served_ttft_part_s(q, (RhTtftPart)p);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum_s, rh_served_metric_s(q, RH_METRIC_TTFT), 1e-9);
    }
    CU_ASSERT_EQUAL(r->tokens_out, answered + vain);
    CU_ASSERT_EQUAL(r->tokens_lost, vain);
    CU_ASSERT_EQUAL(r->tokens_in, read + read_in_vain);
    CU_ASSERT_EQUAL(r->prompt_tokens_lost, read_in_vain);
    CU_ASSERT_EQUAL(r->blocks_left, 0);
}

static void nothing_is_lost_from_the_books(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployments[i]);
        CU_ASSERT_TRUE_FATAL(rh_platform_set(s.platform, "device.hbm", "20GiB", NULL));
        g_autoptr(RhRequests) requests = drawn(300, 25, 2000, 300);
        g_autoptr(GArray) list = failing("0@2s,1@4.5s,1@4.6s,2@3s");
        for (int32_t retries = 0; retries < 3; retries++) {
            RhFailures failures = {list, 4, 1.5, retries, 7};
            if (strchr(deployments[i], '/') == NULL)
                g_array_set_size(list, 3);
            RhClient clients[] = {
                {.ttft_patience_s = 0.5, .e2e_patience_s = 4},
                {.failures = &failures},
                {.failures = &failures, .ttft_patience_s = 1, .e2e_patience_s = 6},
                {.failures = &failures, .e2e_patience_s = 3, .at_once = 40, .turnaround_s = 1e-3}};
            for (size_t c = 0; c < G_N_ELEMENTS(clients); c++) {
                int32_t timed_out, lost, resent;
                g_autoptr(RhServiceResult) r = serve(&s, requests, &clients[c]);
                g_autoptr(RhServiceResult) again = serve(&s, requests, &clients[c]);
                check_books(r, &timed_out, &lost, &resent);
                CU_ASSERT_TRUE(timed_out > 0 || clients[c].e2e_patience_s == 0);
                CU_ASSERT_TRUE(c == 0 || (retries > 0 ? resent : lost) > 0);
                CU_ASSERT_TRUE(retries > 0 || resent == 0);
                CU_ASSERT_EQUAL(memcmp(r->served->data, again->served->data,
                                       sizeof(RhRequestRecord) * r->served->len),
                                0);
            }
        }
        close_setting(&s);
    }
}

/* A client that gives up has no token before; and one that does not has it in time. */
static void clients_give_up_in_time(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployments[i]);
        g_autoptr(RhRequests) requests = drawn(400, 60, 2000, 300);
        g_autoptr(RhServiceResult) r =
            serve(&s, requests, &(RhClient){.ttft_patience_s = 0.3, .e2e_patience_s = 3});
        int32_t given_up = 0;
        for (guint k = 0; k < r->served->len; k++) {
            const RhRequestRecord *q = at(r, k);
            given_up += q->outcome == RH_SERVED_TIMED_OUT;
            if (q->outcome != RH_SERVED_DONE)
                continue;
            CU_ASSERT_TRUE(q->t_end_s <= q->t_arrive_s + 3);
            CU_ASSERT_TRUE(q->t_first_s <= q->t_arrive_s + 0.3);
        }
        CU_ASSERT_TRUE(given_up > 0 && given_up < 400);
        close_setting(&s);
    }
}

/* Skipping is no other service than stepping, with failures and time-outs in it; where guesses are told in the mean, to
 * what an uneven iteration differs by. */
static void runs_are_iterations(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployments[i]);
        double close_s = s.deployment.pools[0].draft > 0 ? 1e-4 : 1e-9;
        g_autoptr(RhRequests) requests = drawn(150, 15, 1500, 500);
        g_autoptr(GArray) list =
            failing("0@2.001s,1@4.3s"); /* no iteration ends within 1e-4 s of these */
        RhFailures failures = {list, 0, 1, 2, 0};
        RhClient client = {.failures = &failures, .ttft_patience_s = 1.1, .e2e_patience_s = 7};
        g_autoptr(RhServiceResult) runs = serve(&s, requests, &client);
        client.each_iteration = true;
        g_autoptr(RhServiceResult) each = serve(&s, requests, &client);
        CU_ASSERT_TRUE(runs->iterations_skipped > 0);
        CU_ASSERT_EQUAL(runs->failures_count, 2);
        CU_ASSERT_EQUAL(runs->tokens_out, each->tokens_out);
        for (guint k = 0; k < runs->served->len; k++) {
            CU_ASSERT_EQUAL(at(runs, k)->outcome, at(each, k)->outcome);
            CU_ASSERT_EQUAL(at(runs, k)->lost_tokens, at(each, k)->lost_tokens);
            CU_ASSERT_EQUAL(at(runs, k)->lost_prompt_tokens, at(each, k)->lost_prompt_tokens);
            if (at(runs, k)->outcome == RH_SERVED_DONE)
                CU_ASSERT_DOUBLE_EQUAL(at(runs, k)->t_end_s, at(each, k)->t_end_s, close_s);
        }
        close_setting(&s);
    }
}

/* One at a time, prompts of one length and one token each, a server away from t1 to t2: nobody begins then, whom the
 * failure met begins anew at t2, and each waits for the one before it (Lindley 1952).
 * Source: Lindley 1952, his recursion of waits. */
static void a_queue_behind_a_failure(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=static,tp1,batch=1");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 2,
                           .input = {2048, 2048},
                           .output = {1, 1},
                           .seed = 5};
    g_autoptr(RhRequests) two = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) pair = serve(&s, two, &(RhClient){0});
    double each_s = at(pair, 1)->t_end_s - at(pair, 0)->t_end_s;
    double admit_s = s.serving.server->admit_s.value, first_s = s.serving.server->first_s.value;
    double t1_s = 10, t2_s = 25, free_s = 0;
    plan.arrival = RH_ARRIVAL_POISSON;
    plan.rate_per_s = 0.7 / each_s;
    plan.count = 2000;
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(GArray) list = failing("0@10s");
    RhFailures failures = {list, 0, t2_s - t1_s, 1, 0};
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.failures = &failures});
    int32_t behind = 0;
    for (guint k = 0; k < r->served->len; k++) {
        double arrive_s = g_array_index(requests->list, RhRequest, k).t_s;
        /* who comes while it is away, or is met by it, is sent when it is back */
        double there_s = arrive_s + admit_s;
        double begin_s = fmax(there_s, free_s);
        if (begin_s + each_s > t1_s && arrive_s < t2_s) {
            begin_s = fmax(t2_s + admit_s, free_s);
            behind++;
        }
        free_s = begin_s + each_s;
        CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
        CU_ASSERT_DOUBLE_EQUAL(at(r, k)->t_end_s, free_s + first_s, 1e-6);
    }
    CU_ASSERT_EQUAL(r->failures_count, 1);
    CU_ASSERT_DOUBLE_EQUAL(behind, 15 * plan.rate_per_s, 4 * sqrt(15 * plan.rate_per_s));
    close_setting(&s);
}

/* Drawn lives are exponential: their mean and the share beyond it. */
static void lives_are_exponential(void)
{
    RhFailures f = {.mtbf_s = 100, .seed = 3};
    double sum_s = 0, beyond = 0;
    for (int32_t n = 0; n < 100000; n++) {
        double life_s = rh_failures_life_s(&f, n % 8, n / 8);
        CU_ASSERT_TRUE(life_s > 0);
        sum_s += life_s;
        beyond += life_s > 100;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum_s / 100000, 100, 1.5);
    CU_ASSERT_DOUBLE_EQUAL(beyond / 100000, exp(-1), 0.006);
}

/* Drawn failures of a long run are as many as were said: 4 servers, a quarter of the time away. */
static void failures_come_as_often_as_said(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=4");
    g_autoptr(RhRequests) requests = drawn(4000, 1, 300, 20);
    RhFailures failures = {.mtbf_s = 30, .restart_s = 10, .retries = 100, .seed = 1};
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.failures = &failures});
    double expected = 4 * r->duration_s / (30 + 10);
    CU_ASSERT_DOUBLE_EQUAL(r->failures_count, expected, 4 * sqrt(expected));
    CU_ASSERT_DOUBLE_EQUAL(r->down_s, 10.0 * r->failures_count, 1e-6);
    close_setting(&s);
}

static void what_says_nothing_is_refused(void)
{
    static const char *const wrong[] = {"", "0", "0@", "x@3s", "0@3", "0@3s,", "-1@3s", "0@3GB"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_failures_parse(wrong[i], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=2");
    g_autoptr(GArray) list = failing("2@3s");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_failures_check(&(RhFailures){.list = list}, &s.deployment, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"nothing is lost from the books", nothing_is_lost_from_the_books},
        {"clients give up in time", clients_give_up_in_time},
        {"runs are iterations", runs_are_iterations},
        {"a queue behind a failure", a_queue_behind_a_failure},
        {"lives are exponential", lives_are_exponential},
        {"failures come as often as said", failures_come_as_often_as_said},
        {"what says nothing is refused", what_says_nothing_is_refused},
        {0}};
    return rh_test_main("failures", tests);
}
