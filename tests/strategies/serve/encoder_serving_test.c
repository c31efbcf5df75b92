/* Models that make no tokens: a pass over a batch answers. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/serve/results/service_metrics.h"
#include "tests/kit/serve_kit.h"

static RhRequests *of_sizes(const int32_t *sizes, int32_t count)
{
    RhRequests *requests = rh_requests_new("test");
    requests->once = true;
    for (int32_t i = 0; i < count; i++) {
        RhRequest q = {.input_tokens = sizes[i], .output_tokens = 1, .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

/* Returns the time of one batch whose requests come at once. */
static double pass_s(const Setting *s, const int32_t *sizes, int32_t count)
{
    g_autoptr(RhRequests) requests = of_sizes(sizes, count);
    g_autoptr(RhServiceResult) r = serve(s, requests, &(RhClient){0});
    CU_ASSERT_EQUAL(r->iterations_stepped, 1);
    double latest_s = 0;
    for (guint i = 0; i < r->served->len; i++) {
        CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
        latest_s = fmax(latest_s, at(r, i)->t_end_s - at(r, i)->t_admit_s);
    }
    return latest_s;
}

static double pass_of(const char *model, const char *platform, int32_t size, int32_t count)
{
    g_autofree char *text = g_strdup_printf("server=triton,batch=%d,window=1", count);
    Setting s = setting_of(model, platform, text);
    s.serving.recipe = &rh_recipe_fp16;
    g_autofree int32_t *sizes = g_new(int32_t, count);
    for (int32_t i = 0; i < count; i++)
        sizes[i] = size;
    double pass = pass_s(&s, sizes, count);
    close_setting(&s);
    return pass;
}

/* More at once take longer, and less each; a batch is as long as its longest. */
static void batches_are_passes(void)
{
    static const struct {
        const char *model;
        int32_t size;
    } cases[] = {{"bert-base", 128}, {"bert-large", 384}, {"resnet-50", 1}, {"vgg-16", 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        double before_s = 0;
        for (int32_t count = 1; count <= 64; count *= 4) {
            double s = pass_of(cases[i].model, "dgx-a100:1", cases[i].size, count);
            CU_ASSERT_TRUE(s > before_s && (before_s == 0 || s < 4.2 * before_s));
            before_s = s;
        }
    }
    Setting s = setting_of("bert-base", "dgx-a100:1", "server=triton,batch=3,window=1");
    static const int32_t mixed[] = {512, 16, 90}, alike[] = {512, 512, 512};
    CU_ASSERT_EQUAL(pass_s(&s, mixed, 3), pass_s(&s, alike, 3));
    close_setting(&s);
}

/* Milliseconds of a pass in fp16 on an A100 of 40 GB: NVIDIA/TensorRT at 007c3470, demo/BERT/README.md (TensorRT 8.4).
 * Nothing was fitted to them. All 40 rows: median 8.6 %, mean 10.3 %.
 * Source: NVIDIA/TensorRT 007c3470, demo/BERT/README.md. */
static void bert_is_as_tensorrt_has_it(void)
{
    static const struct {
        const char *model;
        int32_t size, count;
        double measured_ms;
    } rows[] = {{"bert-base", 128, 1, 0.67},   {"bert-base", 128, 8, 1.38},
                {"bert-base", 128, 64, 8.05},  {"bert-base", 384, 4, 2.31},
                {"bert-base", 384, 128, 51.3}, {"bert-large", 128, 1, 1.64},
                {"bert-large", 128, 8, 4.51},  {"bert-large", 128, 128, 51.6},
                {"bert-large", 384, 16, 21.9}, {"bert-large", 384, 128, 163.7}};
    double sum = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double s = pass_of(rows[i].model, "dgx-a100-40:1", rows[i].size, rows[i].count);
        double error = s * 1000 / rows[i].measured_ms - 1;
        CU_ASSERT_TRUE(fabs(error) < 0.25);
        sum += fabs(error);
    }
    CU_ASSERT_TRUE(sum / G_N_ELEMENTS(rows) < 0.12);
}

/* A picture drawn by diffusion is so many passes, each of which guidance makes of twice the pictures. */
static void pictures_are_drawn_in_passes(void)
{
    static const int32_t one[] = {1, 1};
    Setting once = setting_of("dit-xl-2", "dgx-a100:1", "server=triton,batch=2,window=1");
    Setting drawn =
        setting_of("dit-xl-2", "dgx-a100:1", "server=triton,batch=2,window=1,passes=50");
    Setting guided = setting_of("dit-xl-2", "dgx-a100:1",
                                "server=triton,batch=2,window=1,passes=50,guidance=on");
    RH_CHECK_CLOSE(pass_s(&drawn, one, 1), 50 * pass_s(&once, one, 1), 1e-9);
    RH_CHECK_CLOSE(pass_s(&guided, one, 1), 50 * pass_s(&once, one, 2), 1e-9);
    close_setting(&once);
    close_setting(&drawn);
    close_setting(&guided);
    Setting s = setting_of("llama-3.1-8b", "dgx-a100:1", "tp1,passes=2");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    close_setting(&s);
}

/* Requests that come one by one wait for nobody; what has figures of tokens has none. */
static void one_by_one_is_a_pass(void)
{
    Setting s = setting_of("resnet-50", "aws-p4d:1", "server=triton,batch=1,replicas=2");
    RhRequestsPlan plan = {
        .arrival = RH_ARRIVAL_EVEN, .rate_per_s = 50, .count = 200, .input = {1, 1}, .once = true};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    RhServiceMetrics o = rh_service_metrics(r, NULL);
    RhServedSpread times = o.metrics[RH_METRIC_E2E];
    CU_ASSERT_TRUE(o.once && o.completed_count == 200 && o.tokens_out == 0);
    CU_ASSERT_TRUE(isnan(o.cost_usd_per_token) && o.cost_usd_per_request > 0);
    CU_ASSERT_TRUE(isnan(o.energy_j_per_token) && o.energy_j_per_request > 0);
    RH_CHECK_CLOSE(times.p99.value, times.p50.value, 1e-9);
    CU_ASSERT_EQUAL(o.ttft_parts[RH_TTFT_QUEUE].p99.value, 0);
    close_setting(&s);
}

/* Batches of D/D/1: who comes twice as often as passes end waits ever longer, but not in batches of four. */
static void batches_keep_up(void)
{
    double pass = pass_of("bert-base", "dgx-a100:1", 128, 1);
    for (int32_t batch = 1; batch <= 4; batch += 3) {
        g_autofree char *text = g_strdup_printf("server=triton,batch=%d", batch);
        Setting s = setting_of("bert-base", "dgx-a100:1", text);
        s.serving.recipe = &rh_recipe_fp16;
        RhRequestsPlan plan = {.arrival = RH_ARRIVAL_EVEN,
                               .rate_per_s = 2 / pass,
                               .count = 401,
                               .input = {128, 128},
                               .once = true};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        double waited_s = at(r, 400)->t_admit_s - at(r, 400)->t_arrive_s;
        RH_CHECK_CLOSE(batch == 1 ? waited_s : 200 * pass, 200 * pass, 1e-6);
        CU_ASSERT_TRUE(batch == 1 || waited_s < 4 * pass);
        close_setting(&s);
    }
}

/* Whose pool cannot be, and what does not fit. */
static void pools_are_refused(void)
{
    static const struct {
        const char *model, *deployment, *says;
    } wrong[] = {{"bert-large", "tp1", "makes no tokens"},
                 {"bert-large", "server=triton,pp2", "pp:"},
                 {"resnet-50", "server=triton,tp2", "tp:"},
                 {"bert-large", "server=triton,kv=fp8", "kv:"},
                 {"bert-large", "server=triton,draft=2,accept=50", "draft:"},
                 {"bert-large", "server=triton,tp1/tp1", "second pool"},
                 {"resnet-50", "server=triton,batch=100000", "no room for a batch"}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Setting s = setting_of(wrong[i].model, "dgx-a100:1", wrong[i].deployment);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_TRUE(error && strstr(error->message, wrong[i].says));
        close_setting(&s);
    }
}

static void requests_are_refused(void)
{
    static const struct {
        const char *model, *deployment;
        int32_t input, output;
        bool once;
    } wrong[] = {{"bert-large", "server=triton", 128, 2, false},
                 {"resnet-50", "server=triton", 128, 1, true},
                 {"llama-3.2-1b", "tp1", 128, 1, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Setting s = setting_of(wrong[i].model, "dgx-a100:1", wrong[i].deployment);
        g_autoptr(RhRequests) requests = of_sizes(&wrong[i].input, 1);
        requests->once = wrong[i].once;
        g_array_index(requests->list, RhRequest, 0).output_tokens = wrong[i].output;
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        CU_ASSERT_PTR_NULL(rh_service_run(service, requests, &(RhClient){0}, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {{"batches are passes", batches_are_passes},
                                   {"BERT is as TensorRT has it", bert_is_as_tensorrt_has_it},
                                   {"pictures are drawn in passes", pictures_are_drawn_in_passes},
                                   {"one by one is a pass", one_by_one_is_a_pass},
                                   {"batches keep up", batches_keep_up},
                                   {"pools are refused", pools_are_refused},
                                   {"requests are refused", requests_are_refused},
                                   {0}};
    return rh_test_main("encoder_serving", tests);
}
