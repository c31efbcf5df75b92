/* Weights that are streamed from the host's memory or drives: closed forms, and published rows of
 * ZeRO-Inference. */
#include <math.h>

#include "base/error.h"
#include "tests/kit/serve_kit.h"

/* Returns the tokens/s of one batch, ten tokens after prompts of four, as the rows have it. */
static double tokens_per_s(const char *model, const char *deployment, int32_t batch)
{
    g_autoptr(GError) error = NULL;
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *file = g_strdup_printf("%s/tests/data/%s.json", data ? data : ".", model);
    bool ours = g_file_test(file, G_FILE_TEST_EXISTS);
    Setting s = setting_of(ours ? file : model, "dgx-2:1", deployment);
    s.serving.recipe = &rh_recipe_fp16;
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, &error);
    if (!service)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    RhIterations *it = rh_service_iterations(service, 0);
    g_autofree RhChunk *chunks = g_new(RhChunk, batch);
    for (int32_t i = 0; i < batch; i++)
        chunks[i] = (RhChunk){0, 4};
    RhBatch first = {.chunks = chunks, .chunks_count = batch, .ended = batch};
    double time_s = rh_iteration_s(it, &first);
    for (int32_t i = 1; i < 10; i++) {
        RhBatch next = {.decodes = batch, .contexts = (int64_t)batch * (4 + i)};
        time_s += rh_iteration_s(it, &next);
    }
    close_setting(&s);
    return batch * 10 / time_s;
}

/* Two digits each. github deepspeedai/DeepSpeed@edaa722, docs/assets/images/zero_inference_full_offload.png,
 * zero_inference_prefetch.png, zero_inference_multi_gpu.png; V100-32GB of a DGX-2. Rows of several GPUs are
 * batches of all of them, each of which fetches its part of a layer. */
static const struct {
    const char *model, *deployment;
    int32_t batch;
    double tokens_per_s;
    double allowed_frac;
} rows[] = {
    {"opt-30b", "server=static,tp1,batch=64,weights=host,resident=40", 64, 18, 0.05},
    {"opt-30b", "server=static,tp1,batch=128,weights=host,resident=33", 128, 32, 0.05},
    {"opt-30b", "server=static,tp1,batch=256,weights=host", 256, 43, 0.05},
    {"opt-175b", "server=static,tp1,batch=64,weights=host", 64, 2.0, 0.10},
    {"bloom-176b", "server=static,tp1,batch=64,weights=host", 64, 2.0, 0.10},
    {"opt-30b", "server=static,tp1,batch=256,weights=nvme", 256, 34, 0.05},
    {"opt-175b", "server=static,tp1,batch=64,weights=nvme", 64, 1.6, 0.10},
    {"bloom-176b", "server=static,tp1,batch=64,weights=nvme", 64, 1.7, 0.15},
    {"opt-30b", "server=static,tp2,batch=512,weights=host", 512, 2 * 77, 0.20},
    {"opt-30b", "server=static,tp4,batch=1024,weights=host", 1024, 4 * 120, 0.15},
    {"opt-175b", "server=static,tp2,batch=128,weights=host", 128, 2 * 3.6, 0.20},
    {"opt-175b", "server=static,tp4,batch=256,weights=host", 256, 4 * 6.2, 0.15},
    {"bloom-176b", "server=static,tp2,batch=128,weights=host", 128, 2 * 3.5, 0.20},
    {"bloom-176b", "server=static,tp4,batch=256,weights=host", 256, 4 * 5.8, 0.15},
    {"opt-30b", "server=static,tp2,batch=512,weights=nvme", 512, 2 * 51, 0.05},
    {"opt-30b", "server=static,tp4,batch=1024,weights=nvme", 1024, 4 * 72, 0.05},
};

/* Tokens a second of models whose weights are streamed. Source: deepspeedai/DeepSpeed edaa722,
 * docs/assets/images/zero_inference_*.png. */
static void published_rows_are_near(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double predicted = tokens_per_s(rows[i].model, rows[i].deployment, rows[i].batch);
        CU_ASSERT_TRUE(fabs(predicted / rows[i].tokens_per_s - 1) <= rows[i].allowed_frac);
    }
}

/* Without the next layer on its way, reading adds to computing: never quicker, and as slow as both together.
 * Source: deepspeedai/DeepSpeed edaa722, docs/assets/images/zero_inference_prefetch.png: 30, 1.4 and 1.4 tokens/s. */
static void without_prefetch_reading_adds_to_computing(void)
{
    static const struct {
        const char *model;
        int32_t batch;
        double tokens_per_s;
    } unfetched[] = {{"opt-30b", 256, 30}, {"opt-175b", 64, 1.4}, {"bloom-176b", 64, 1.4}};
    for (size_t i = 0; i < G_N_ELEMENTS(unfetched); i++) {
        g_autofree char *with =
            g_strdup_printf("server=static,tp1,batch=%d,weights=nvme", unfetched[i].batch);
        g_autofree char *without = g_strconcat(with, ",prefetch=off", NULL);
        double most = tokens_per_s(unfetched[i].model, with, unfetched[i].batch),
               predicted = tokens_per_s(unfetched[i].model, without, unfetched[i].batch);
        CU_ASSERT_TRUE(predicted < most);
        CU_ASSERT_TRUE(fabs(predicted / unfetched[i].tokens_per_s - 1) <= 0.15);
    }
}

static double iteration_s(const char *deployment, int32_t decodes, double *weight_bytes,
                          double *streamed_bytes)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployment);
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    RhBatch batch = {.decodes = decodes, .contexts = (int64_t)decodes * 1000};
    *weight_bytes = rh_iterations_weight_bytes(it);
    *streamed_bytes = rh_iterations_streamed_bytes(it);
    double time_s = rh_iteration_s(it, &batch);
    close_setting(&s);
    return time_s;
}

/* The longer of kernels and bytes over their part of the link; what stays is not streamed. */
static void a_stream_takes_its_link(void)
{
    static const double resident[] = {0, 0.25, 0.9, 1};
    static const char *const deployments[] = {"tp1,weights=host", "tp1,weights=host,resident=25",
                                              "tp1,weights=host,resident=90",
                                              "tp1,weights=host,resident=100"};
    double whole, none, held, streamed;
    double kernels_s = iteration_s("tp1", 16, &whole, &none);
    CU_ASSERT_EQUAL(none, 0);
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    const RhServer *server = s.serving.server;
    double rate = s.platform->host_bytes_per_s.value * server->stream_host_frac.value;
    double host_s = server->step_s.value + 16 * server->sequence_s.value;
    close_setting(&s);
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        double time_s = iteration_s(deployments[i], 16, &held, &streamed);
        RH_CHECK_CLOSE(streamed, whole * (1 - resident[i]), 1e-12);
        RH_CHECK_CLOSE(time_s, fmax(kernels_s - host_s, streamed / rate) + host_s, 1e-9);
        RH_CHECK_CLOSE(held, whole - streamed + fmin(2 * whole / 32, streamed), 1e-9);
    }
}

/* Weights on drives are read at the rank's share of the drives and then copied; a link that ranks
 * share bounds both. */
static void drives_are_read_before_the_copy(void)
{
    static const char *const deployments[] = {"tp1,weights=nvme", "tp2,weights=nvme",
                                              "tp8,weights=nvme"};
    static const int32_t ranks[] = {1, 2, 8};
    double held, streamed;
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    double drives = s.platform->nvme_bytes_per_s.value, link = s.platform->host_bytes_per_s.value,
           copied = link * s.serving.server->stream_nvme_frac.value,
           sharers = s.platform->host_gpus_per_link.value;
    for (size_t i = 0; i < G_N_ELEMENTS(ranks); i++) {
        double time_s = iteration_s(deployments[i], 1, &held, &streamed), n = ranks[i];
        double host_s = s.serving.server->step_s.value + s.serving.server->sequence_s.value +
                        s.serving.server->rank_step_s.value * log2(n);
        double least_s = fmax(n / drives + 1 / copied, fmin(fmax(sharers, 1), n) / link);
        RH_CHECK_CLOSE(time_s, streamed * least_s + host_s, 1e-9);
    }
    close_setting(&s);
}

/* Runs equal single iterations, also where kernels overtake the stream in the middle of a run. */
static void runs_are_iterations(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,batch=64,weights=host,resident=93");
    g_autoptr(RhRequests) requests = drawn(80, 20, 3000, 400);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
    for (guint i = 0; i < r->served->len; i++)
        CU_ASSERT_DOUBLE_EQUAL(at(r, i)->t_end_s, at(each, i)->t_end_s, 1e-7);
    CU_ASSERT_TRUE(r->iterations_skipped > 0);
    close_setting(&s);
}

static void what_cannot_be_is_refused(void)
{
    static const char *const texts[] = {"tp1,resident=40", "tp1,pp2,weights=host",
                                        "tp1,weights=nvme"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", texts[i]);
        s.platform->nvme_bytes_per_s.value = 0;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        close_setting(&s);
    }
    g_autoptr(GError) error = NULL;
    Setting s = setting_of("llama-3.1-405b", "dgx-h100:1", "tp1,weights=host");
    s.platform->host_bytes.value = 100e9;
    CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"published rows are near", published_rows_are_near},
        {"without prefetch reading adds to computing", without_prefetch_reading_adds_to_computing},
        {"a stream takes its link", a_stream_takes_its_link},
        {"drives are read before the copy", drives_are_read_before_the_copy},
        {"runs are iterations", runs_are_iterations},
        {"what cannot be is refused", what_cannot_be_is_refused},
        {0}};
    return rh_test_main("streamed_weights", tests);
}
