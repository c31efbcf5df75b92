/* Experts that are asked unevenly: the rank that gets most sets the pace of a server's iterations. */
#include <math.h>

#include "base/error.h"
#include "strategies/serve/iteration/iteration.h"
#include "tests/kit/serve_kit.h"

static RhIterations *iterations_of(Setting *s, RhExpertLoad *load, const char *text)
{
    *load = (RhExpertLoad){0};
    CU_ASSERT_TRUE_FATAL(rh_expert_load_parse(text, load, NULL));
    s->serving.load = load;
    RhIterations *it = rh_iterations_new(&s->serving, &s->deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    return it;
}

/* `decodes` sequences with 1,000 tokens each, beside a prompt of `tokens` (0: none). */
static double batch_s(RhIterations *it, int32_t decodes, int32_t tokens)
{
    RhChunk chunk = {0, tokens};
    RhBatch batch = {.decodes = decodes,
                     .contexts = INT64_C(1000) * decodes,
                     .chunks = &chunk,
                     .chunks_count = tokens > 0 ? 1 : 0,
                     .ended = tokens > 0 ? 1 : 0};
    return rh_iteration_s(it, &batch);
}

static const struct {
    const char *model, *deployment;
} served[] = {{"mixtral-8x7b", "tp1,dp8,ep8"},
              {"mixtral-8x7b", "tp8,ep8"},
              {"qwen3-30b-a3b", "tp1,dp8,ep8"},
              {"qwen3-30b-a3b", "tp2,dp4,ep8,server=sglang-deepep"},
              {"deepseek-v3", "tp8,ep8,server=trtllm"}};
static const int32_t batches[][2] = {{1, 0},  {8, 0},    {64, 0},  {512, 0},
                                     {0, 37}, {0, 8192}, {64, 900}};

/* "balanced", and a power of 0, are the server that nothing is said of, to the last bit. */
static void balanced_is_nothing_said(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(served); i++) {
        Setting s = setting_of(served[i].model, "dgx-h200:1", served[i].deployment);
        RhExpertLoad even, level;
        g_autoptr(RhIterations) unsaid =
            rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(unsaid);
        g_autoptr(RhIterations) balanced = iterations_of(&s, &even, "balanced");
        g_autoptr(RhIterations) flat = iterations_of(&s, &level, "power-law:0");
        for (size_t b = 0; b < G_N_ELEMENTS(batches); b++) {
            double was = batch_s(unsaid, batches[b][0], batches[b][1]);
            CU_ASSERT_EQUAL(batch_s(balanced, batches[b][0], batches[b][1]), was);
            RH_CHECK_CLOSE(batch_s(flat, batches[b][0], batches[b][1]), was, 1e-3);
        }
        close_setting(&s);
    }
}

/* An iteration takes no less than with even load; and the longer the steeper the law, where no measured products are
 * behind the times (of which one with more rows may be quicker). At last by much. */
static void skew_is_never_quicker(void)
{
    static const char *const laws[] = {"balanced",      "power-law:0.1", "power-law:0.3",
                                       "power-law:0.5", "power-law:1",   "power-law:2"};
    static const char *const platforms[] = {"dgx-h200:1", "dgx-b300:1", "h20-sxm:1x8"};
    for (size_t i = 0; i < 3 * G_N_ELEMENTS(served); i++) {
        const char *model = served[i / 3].model;
        Setting s = setting_of(model, platforms[i % 3], served[i / 3].deployment);
        double even[G_N_ELEMENTS(batches)], last[G_N_ELEMENTS(batches)];
        for (size_t l = 0; l < G_N_ELEMENTS(laws); l++) {
            RhExpertLoad load;
            g_autoptr(RhIterations) it = iterations_of(&s, &load, laws[l]);
            for (size_t b = 0; b < G_N_ELEMENTS(batches); b++) {
                double now = batch_s(it, batches[b][0], batches[b][1]);
                even[b] = l == 0 ? now : even[b];
                CU_ASSERT_TRUE(now >= even[b]);
                CU_ASSERT_TRUE(l == 0 || i % 3 < 2 || now >= last[b]);
                last[b] = now;
            }
        }
        CU_ASSERT_TRUE(last[5] > 1.5 * even[5]);
        close_setting(&s);
    }
}

/* All tokens on one rank of eight are eight times its part: a law and a histogram that say so agree, and what lies
 * on one GPU, or is cut over all, does not feel it. */
static void the_busiest_rank_is_waited_for(void)
{
    Setting s = setting_of("mixtral-8x7b", "dgx-h200:1", "tp1,dp8,ep8");
    RhExpertLoad load, steep;
    g_autoptr(RhIterations) one = iterations_of(&s, &load, "histogram:1-0x7");
    g_autoptr(RhIterations) law = iterations_of(&s, &steep, "power-law:10");
    RH_CHECK_CLOSE(batch_s(one, 0, 8192), batch_s(law, 0, 8192), 2e-3);
    close_setting(&s);
    s = setting_of("mixtral-8x7b", "dgx-h200:1", "tp8");
    g_autoptr(RhIterations) even = iterations_of(&s, &load, "balanced");
    g_autoptr(RhIterations) cut = iterations_of(&s, &steep, "power-law:2");
    CU_ASSERT_EQUAL(batch_s(cut, 64, 900), batch_s(even, 64, 900));
    close_setting(&s);
}

/* Returns the bytes that the ranks exchange for experts in an iteration of 256 tokens a group, all
 * layers together. */
static double exchanged(const char *deployment, const char *platform, const char *load_text,
                        RhOp op)
{
    Setting s = setting_of("qwen3-30b-a3b", platform, deployment);
    RhExpertLoad load;
    g_autoptr(RhIterations) it = iterations_of(&s, &load, load_text);
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
    rh_iteration_exchanges(it, 256, 256, list);
    double bytes = 0;
    for (guint i = 0; i < list->len; i++) {
        const RhServedExchange *e = &g_array_index(list, RhServedExchange, i);
        bytes += e->experts && e->op == op ? e->bytes : 0;
    }
    close_setting(&s);
    return bytes;
}

/* Every rank gets every token, whoever's experts are busy: 256 tokens of 2,048 columns of each of eight ranks. An
 * all-to-all sends the busy rank more; and where NVLink joins more than a board TensorRT-LLM has one. */
static void what_is_gathered_is_all_tokens(void)
{
    const char *skewed = "histogram:4x8-1x120", *eight = "server=vllm,tp1,dp8,ep8",
               *wide = "server=trtllm,tp1,dp16,ep16";
    double even = exchanged(eight, "dgx-h100:1", "balanced", RH_OP_ALL_GATHER);
    double layers = 48, each = 256 * 2048 * 2;
    RH_CHECK_CLOSE(even, layers * each * 8, 1e-9);
    RH_CHECK_CLOSE(exchanged(eight, "dgx-h100:1", skewed, RH_OP_ALL_GATHER), even, 1e-9);
    CU_ASSERT_TRUE(
        exchanged("server=orca,tp1,dp8,ep8", "dgx-h100:1", skewed, RH_OP_ALL_TO_ALL) >
        1.5 * exchanged("server=orca,tp1,dp8,ep8", "dgx-h100:1", "balanced", RH_OP_ALL_TO_ALL));
    CU_ASSERT_EQUAL(exchanged(wide, "gb200-nvl72:1", "balanced", RH_OP_ALL_GATHER), 0);
    CU_ASSERT_TRUE(exchanged(wide, "gb200-nvl72:1", "balanced", RH_OP_ALL_TO_ALL) > 0);
    CU_ASSERT_TRUE(exchanged(wide, "dgx-h100:2", "balanced", RH_OP_ALL_GATHER) > 0);
}

/* A histogram of other experts than the model has; ranks that have not as many each; tokens dropped. */
static void what_does_not_fit_is_refused(void)
{
    static const struct {
        const char *deployment, *load;
        double capacity;
    } wrong[] = {{"tp8,ep8", "histogram:1x7", 0},
                 {"tp1,dp3,ep3", "power-law:1", 0},
                 {"tp1,dp3,ep3", "balanced", 0},
                 {"tp16,ep16", "balanced", 0}, /* of 8 experts */
                 {"tp8,ep8", "balanced", 1.25}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Setting s = setting_of("mixtral-8x7b", "dgx-h200:2", wrong[i].deployment);
        RhExpertLoad load = {.capacity = wrong[i].capacity};
        CU_ASSERT_TRUE(rh_expert_load_parse(wrong[i].load, &load, NULL));
        s.serving.load = &load;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"balanced is nothing said", balanced_is_nothing_said},
        {"skew is never quicker", skew_is_never_quicker},
        {"the busiest rank is waited for", the_busiest_rank_is_waited_for},
        {"what is gathered is all tokens", what_is_gathered_is_all_tokens},
        {"what does not fit is refused", what_does_not_fit_is_refused},
        {0}};
    return rh_test_main("expert_imbalance", tests);
}
