/* Speculative decoding: guesses, and what they give. */
#include "strategies/serve/iteration/speculation.h"

#include <string.h>

#include "tests/kit/serve_kit.h"

/* The mean is the sum of the chances that so many guesses in a row are right, and one. */
static void means_are_sums(void)
{
    for (int32_t draft = 0; draft <= 8; draft++)
        for (int32_t accept = 0; accept <= 100; accept += 10) {
            RhPool pool = {.draft = draft, .accept = accept};
            double sum = 0;
            for (int32_t i = 0; i <= draft; i++)
                sum += pow(accept / 100.0, i);
            CU_ASSERT_DOUBLE_EQUAL(rh_pool_accepted(&pool), draft > 0 ? sum : 1, 1e-12);
        }
}

/* Tokens an iteration where guesses cost nothing, from the chance that one is right and how many there are.
 * Source: Leviathan et al. 2023 (arXiv 2211.17192), table 1, column "speed". */
static void tokens_are_those_of_leviathans_table(void)
{
    static const struct {
        int32_t accept, draft;
        double tokens;
    } rows[] = {{60, 2, 1.96}, {70, 3, 2.53}, {80, 2, 2.44},
                {80, 5, 3.69}, {90, 2, 2.71}, {90, 10, 6.86}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhPool pool = {.draft = rows[i].draft, .accept = rows[i].accept};
        CU_ASSERT_DOUBLE_EQUAL(rh_pool_accepted(&pool), rows[i].tokens, 0.0051);
    }
}

/* Iterations give as many tokens as the mean says, never one too few or too many. */
static void tokens_come_evenly(void)
{
    for (double mean = 1; mean < 5; mean += 0.173)
        for (int64_t i = 0; i < 1000; i++) {
            double tokens = (double)rh_accepted_by(mean, i);
            CU_ASSERT_TRUE(tokens <= i * mean + 1e-6 && tokens > i * mean - 1);
        }
}

/* A request alone: one iteration reads its prompt, and as many as are needed give the rest. */
static void iterations_are_fewer(void)
{
    static const struct {
        const char *pool;
        int32_t iterations;
    } rows[] = {{"tp1", 1 + 99},
                {"tp1,draft=3,accept=100", 1 + 25},           /* 4 each, 99 to come */
                {"tp1,draft=1,accept=50", 1 + 66},            /* 1.5 each */
                {"tp1,draft=2,accept=50,drafter=0", 1 + 57}}; /* 1.75 */
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", rows[i].pool);
        RhRequestsPlan plan = {
            .arrival = RH_ARRIVAL_BURST, .count = 1, .input = {500, 500}, .output = {100, 100}};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.each_iteration = true});
        CU_ASSERT_EQUAL(r->iterations_stepped, rows[i].iterations);
        CU_ASSERT_EQUAL(r->tokens_out, 100);
        close_setting(&s);
    }
}

/* An iteration that judges guesses of b sequences goes through as many tokens as one of more sequences,
 * reads the caches of b, and guesses before: n-grams cost nothing. */
static void guesses_cost(void)
{
    double first_s[3];
    static const char *const pools[] = {"tp1", "tp1,draft=3,accept=70,drafter=0",
                                        "tp1,draft=3,accept=70"};
    for (size_t i = 0; i < G_N_ELEMENTS(pools); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", pools[i]);
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        RhBatch batch = {.decodes = 64, .contexts = 64 * 1000};
        RhIterations *it = rh_service_iterations(service, 0);
        first_s[i] = rh_iteration_s(it, &batch);
        CU_ASSERT_DOUBLE_EQUAL(rh_iteration_run(it, 64, 64 * 1000).first_s / first_s[i], 1, 1e-12);
        close_setting(&s);
    }
    CU_ASSERT_TRUE(first_s[1] > first_s[0] && first_s[1] < 3 * first_s[0]);
    CU_ASSERT_TRUE(first_s[2] > first_s[1] && first_s[2] < 1.5 * first_s[1]);
}

/* Each layer that guesses takes as long as the next, and all of them have the head's time for every guess besides,
 * which a table has not. */
static void a_table_needs_no_head(void)
{
    double time_s[3];
    for (int layers = 0; layers < 3; layers++) {
        g_autofree char *pool = g_strdup_printf("tp1,draft=3,accept=70,drafter=%d", layers);
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", pool);
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        RhBatch batch = {.decodes = 64, .contexts = 64 * 1000};
        time_s[layers] = rh_iteration_s(rh_service_iterations(service, 0), &batch);
        close_setting(&s);
    }
    double layer_s = time_s[2] - time_s[1], heads_s = time_s[1] - layer_s - time_s[0];
    CU_ASSERT_TRUE(layer_s > 0);
    CU_ASSERT_TRUE(heads_s >
                   3 * 1.05e9 / 3.35e12); /* three times 128,256 words of 4,096 16-bit columns */
}

/* Tokens are neither lost nor made twice where the cache runs out; gaps are counted; and runs are
 * iterations, except that contexts grow by whole tokens in these and by the mean in those. */
static void tokens_are_counted(void)
{
    static const char *const pools[] = {"server=vllm,tp1,batch=64,draft=3,accept=60,blocks=260",
                                        "server=sglang,tp1,batch=64,draft=1,accept=80,blocks=9000",
                                        "server=trtllm,tp1,batch=64,draft=5,accept=90,drafter=0"};
    for (size_t i = 0; i < G_N_ELEMENTS(pools); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", pools[i]);
        g_autoptr(RhRequests) requests = drawn(120, 30, 1500, 700);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        int64_t out = 0, gaps = 0, again = 0;
        for (guint k = 0; k < r->served->len; k++) {
            CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
            RH_CHECK_CLOSE(at(r, k)->t_end_s, at(each, k)->t_end_s, 1e-3);
            out += at(r, k)->output_tokens;
            again += at(r, k)->preempted_count;
        }
        for (int b = 0; b < RH_GAP_BINS; b++)
            gaps += r->gaps[b];
        CU_ASSERT_EQUAL(r->tokens_out, out);
        CU_ASSERT_EQUAL(gaps, out - 120);
        CU_ASSERT_EQUAL(again > 0, i < 2);
        CU_ASSERT_TRUE(r->kv_peak_frac <= 1);
        close_setting(&s);
    }
}

/* Layers that guess take memory; and one must say how well they do. */
static void drafters_are_held(void)
{
    Setting plain = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1"),
            drafts = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,draft=2,accept=70,drafter=2");
    g_autoptr(RhService) a = rh_service_new(&plain.serving, &plain.deployment, NULL),
                         b = rh_service_new(&drafts.serving, &drafts.deployment, NULL);
    double more = rh_service_kv_budget(b, 0).weight_bytes - rh_service_kv_budget(a, 0).weight_bytes;
    RH_CHECK_CLOSE(more, 2 * 2.0 * 218112000, 1e-3); /* two layers, 16 bits */
    drafts.deployment.pools[0].accept = -1;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_service_new(&drafts.serving, &drafts.deployment, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "accept=70"));
    close_setting(&plain);
    close_setting(&drafts);
}

static const RhTest tests[] = {
    {"means are sums", means_are_sums},
    {"tokens_are_those_of_leviathans_table", tokens_are_those_of_leviathans_table},
    {"tokens come evenly", tokens_come_evenly},
    {"iterations are fewer", iterations_are_fewer},
    {"guesses cost", guesses_cost},
    {"a table needs no head", a_table_needs_no_head},
    {"tokens are counted", tokens_are_counted},
    {"drafters are held", drafters_are_held},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("speculation", tests);
}
