/* Prompts that wait for others, and what else a deployment says of an engine's launch. */
#include <math.h>

#include "platforms/profile.h"
#include "strategies/serve/iteration/iteration_private.h"
#include "tests/kit/serve_kit.h"

static RhRequests *at_times(const double *times, const int32_t *outputs, int32_t count)
{
    RhRequests *requests = rh_requests_new("test");
    for (int32_t i = 0; i < count; i++) {
        RhRequest q = {
            .t_s = times[i], .input_tokens = 512, .output_tokens = outputs[i], .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

static double waited_s(const RhServiceResult *r, guint i)
{
    return at(r, i)->t_admit_s - at(r, i)->t_arrive_s;
}

static double step_s(const RhServiceResult *r, guint i)
{
    return (at(r, i)->t_end_s - at(r, i)->t_first_s) / (at(r, i)->output_tokens - 1);
}

/* A prompt beside a running sequence waits for 20 iterations, and not at all where it fills the budget. */
static void prompts_wait_for_others(void)
{
    static const double times[] = {0, 1.0};
    static const int32_t outputs[] = {2000, 8};
    static const char *const waits[] = {"", ",wait=20", ",wait=20,fill=5"};
    double waited[3], step = 0;
    g_autoptr(RhRequests) requests = at_times(times, outputs, 2);
    for (int k = 0; k < 3; k++) {
        g_autofree char *text = g_strdup_printf("server=trtllm,tp1,chunk=8192%s", waits[k]);
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", text);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        CU_ASSERT_DOUBLE_EQUAL(waited_s(r, 1), waited_s(each, 1), 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(at(r, 1)->t_end_s, at(each, 1)->t_end_s, 1e-9);
        waited[k] = waited_s(r, 1);
        step = step_s(r, 0);
        close_setting(&s);
    }
    CU_ASSERT_DOUBLE_EQUAL(waited[1] - waited[0], 20 * step, 0.5 * step);
    CU_ASSERT_EQUAL(waited[2], waited[0]);
}

/* Alone, a prompt is read at once. */
static void nothing_waits_alone(void)
{
    static const double times[] = {0, 100};
    static const int32_t outputs[] = {8, 8};
    g_autoptr(RhRequests) requests = at_times(times, outputs, 2);
    static const char *const texts[] = {"server=trtllm,tp1,wait=20",
                                        "server=trtllm,tp1,dp2,ep2,balance=30"};
    for (int k = 0; k < 2; k++) {
        Setting s = setting_of("gpt-oss-20b", "dgx-h100:1", texts[k]);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        for (guint i = 0; i < 2; i++)
            CU_ASSERT_DOUBLE_EQUAL(waited_s(r, i), s.serving.server->admit_s.value, 1e-9);
        close_setting(&s);
    }
}

/* Two groups continue a sequence each. One prompt waits for the end of a count of 30 iterations; two, one for each
 * group, are read at once and together. */
static void groups_wait_for_one_another(void)
{
    static const double times[] = {0, 0, 1.0, 3.0, 3.0};
    static const int32_t outputs[] = {2000, 2000, 8, 8, 8};
    double waited[2][5], step = 0;
    g_autoptr(RhRequests) requests = at_times(times, outputs, 5);
    for (int k = 0; k < 2; k++) {
        Setting s = setting_of("gpt-oss-20b", "dgx-h100:1",
                               k == 0 ? "server=trtllm,tp1,dp2,ep2"
                                      : "server=trtllm,tp1,dp2,ep2,balance=30");
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        for (guint i = 0; i < 5; i++) {
            waited[k][i] = waited_s(r, i);
            CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
            CU_ASSERT_DOUBLE_EQUAL(waited[k][i], waited_s(each, i), 1e-9);
        }
        step = step_s(r, 0);
        close_setting(&s);
    }
    CU_ASSERT_TRUE(waited[1][2] - waited[0][2] > 1.5 * step);
    CU_ASSERT_TRUE(waited[1][2] - waited[0][2] < 31 * step);
    CU_ASSERT_EQUAL(waited[1][3], waited[1][4]);
    CU_ASSERT_DOUBLE_EQUAL(waited[1][3], waited[0][3], 1.5 * step);
}

/* A first message of ten tokens comes nine later, where the server's first message waits for its tokens. */
static void messages_have_tokens(void)
{
    static const double times[] = {0};
    static const int32_t outputs[] = {101};
    g_autoptr(RhRequests) requests = at_times(times, outputs, 1);
    static const char *const servers[] = {"trtllm", "vllm"};
    for (int k = 0; k < 2; k++) {
        double first_s[2];
        for (int m = 0; m < 2; m++) {
            g_autofree char *text =
                g_strdup_printf("server=%s,tp1%s", servers[k], m ? ",stream=10" : "");
            Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", text);
            g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
            first_s[m] = at(r, 0)->t_first_s;
            if (m == 0)
                first_s[0] += k == 0 ? 9 * step_s(r, 0) : 0;
            close_setting(&s);
        }
        CU_ASSERT_DOUBLE_EQUAL(first_s[0], first_s[1], 1e-9);
    }
}

/* Iterations of a pool; `extra` ends its text. */
static double iteration_s(const char *extra, const RhBatch *batch)
{
    g_autofree char *text = g_strdup_printf("server=vllm,tp1,batch=64,chunk=8192%s", extra);
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", text);
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    double seconds = rh_iteration_s(it, batch), host_s = s.serving.server->sequence_s.value;
    if (batch->decodes > 0)
        RH_CHECK_CLOSE(rh_iteration_run(it, batch->decodes, batch->contexts).first_s, seconds,
                       1e-9);
    close_setting(&s);
    return seconds - host_s;
}

/* Iterations without a graph take as long as 16 layers are launched: half a millisecond each. */
static void graphs_hold_iterations(void)
{
    RhChunk chunk = {.tokens = 16};
    RhBatch prompt = {.chunks = &chunk, .chunks_count = 1, .ended = 1};
    RhBatch decode = {.decodes = 1, .contexts = 64};
    CU_ASSERT_TRUE(iteration_s("", &prompt) < 7e-3);
    CU_ASSERT_DOUBLE_EQUAL(iteration_s(",graphs=decode", &prompt), 8e-3, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(iteration_s(",graphs=none", &prompt), 8e-3, 1e-3);
    CU_ASSERT_EQUAL(iteration_s(",graphs=decode", &decode), iteration_s("", &decode));
    CU_ASSERT_DOUBLE_EQUAL(iteration_s(",graphs=none", &decode), 8e-3, 1e-3);
}

/* Experts may be run by another library of the table than the server's. */
static void experts_have_libraries(void)
{
    static const char *const texts[] = {"", ",experts=trtllm-gen", ",experts=cutlass"};
    double seconds[3];
    for (int k = 0; k < 3; k++) {
        g_autofree char *text =
            g_strdup_printf("server=trtllm-stream10,batch=64,chunk=8192,tp4%s", texts[k]);
        Setting s = setting_of("qwen3-30b-a3b", "dgx-b200:1", text);
        s.serving.recipe = rh_recipe_by_name("nvfp4");
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        RhBatch decode = {.decodes = 64, .contexts = 64 * 512};
        seconds[k] = rh_iteration_s(it, &decode);
        close_setting(&s);
    }
    CU_ASSERT_EQUAL(seconds[0], seconds[1]);
    CU_ASSERT_TRUE(fabs(seconds[2] / seconds[0] - 1) > 1e-3);
}

int main(void)
{
    static const RhTest tests[] = {{"prompts wait for others", prompts_wait_for_others},
                                   {"nothing waits alone", nothing_waits_alone},
                                   {"groups wait for one another", groups_wait_for_one_another},
                                   {"messages have tokens", messages_have_tokens},
                                   {"graphs hold iterations", graphs_hold_iterations},
                                   {"experts have libraries", experts_have_libraries},
                                   {0}};
    return rh_test_main("prompt_wait", tests);
}
