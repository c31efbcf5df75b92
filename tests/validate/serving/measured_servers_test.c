/* Static batches and first tokens beside TensorRT-LLM's tables of version 0.9. Nothing was fitted to them. */
#include <math.h>

#include "tests/kit/testkit.h"
#include "validate/serving/served_vs_predicted.h"

typedef struct {
    int32_t gpus, input, output, batch;
    double tokens_per_s;
} Row;

/* Checks that each row is within a third, and the mean error within a fifth. */
static void check_rows(const char *model, const char *gpu, const char *precision, const Row *rows,
                       size_t count)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text =
        g_string_new("source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,"
                     "throughput_tok_s,ttft_ms,tpot_ms,note,where\n");
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text,
                               "TensorRT-LLM v0.9 perf-overview,%s,%s,%d,%d,1,,,%s,%d,%d,%d,,%g,,,"
                               "STATIC batch,x\n",
                               model, gpu, rows[i].gpus, rows[i].gpus, precision, rows[i].input,
                               rows[i].output, rows[i].batch, rows[i].tokens_per_s);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text->str, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_served_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    CU_ASSERT_EQUAL_FATAL(j->rows->len, count);
    double sum = 0;
    for (guint i = 0; i < j->rows->len; i++) {
        const RhEvaluatedRun *r = &g_array_index(j->rows, RhEvaluatedRun, i);
        CU_ASSERT_PTR_NULL(r->skipped);
        double off = r->predicted_s / r->measured_s - 1;
        CU_ASSERT_TRUE(fabs(off) < 1.0 / 3);
        sum += fabs(off);
    }
    CU_ASSERT_TRUE(sum / (double)count < 0.2);
}

/* Llama 7B in fp8 on an H100.
 * Source: NVIDIA/TensorRT-LLM v0.9, docs/source/performance/perf-overview.md. */
static void llama_7b_on_an_h100_is_as_fast_as_nvidia_says(void)
{
    static const Row rows[] = {{1, 128, 128, 896, 19854},
                               {1, 128, 2048, 120, 6944},
                               {1, 2048, 128, 84, 2163},
                               {1, 2048, 2048, 56, 2826}};
    check_rows("LLaMA-7B", "H100", "FP8", rows, G_N_ELEMENTS(rows));
}

/* Llama 70B in fp8 on one or two H200s.
 * Source: NVIDIA/TensorRT-LLM v0.9, docs/source/performance/perf-overview.md. */
static void llama_70b_on_h200s_is_as_fast_as_nvidia_says(void)
{
    static const Row rows[] = {{1, 128, 128, 1024, 3989},
                               {2, 128, 2048, 512, 7926},
                               {1, 2048, 128, 64, 418},
                               {1, 2048, 2048, 64, 1458}};
    check_rows("LLaMA-70B", "H200", "FP8", rows, G_N_ELEMENTS(rows));
}

/* Llama 7B in fp16 on an A100.
 * Source: NVIDIA/TensorRT-LLM v0.9, docs/source/performance/perf-overview.md. */
static void llama_7b_on_an_a100_is_as_fast_as_nvidia_says(void)
{
    static const Row rows[] = {{1, 128, 128, 256, 5390},
                               {1, 128, 2048, 32, 1484},
                               {1, 2048, 128, 32, 533},
                               {1, 2048, 2048, 16, 603}};
    check_rows("LLaMA-7B", "A100", "FP16", rows, G_N_ELEMENTS(rows));
}

/* Milliseconds to the first token of one prompt.
 * Source: NVIDIA/TensorRT-LLM v0.9, docs/source/performance/perf-overview.md, low latency. */
static void first_tokens_come_as_early_as_nvidia_says(void)
{
    static const struct {
        const char *model, *gpu, *precision;
        int32_t gpus, input;
        double ms;
    } rows[] = {
        {"LLaMA-7B", "H200", "FP8", 1, 128, 5.7},    {"LLaMA-7B", "H200", "FP8", 1, 2048, 30.2},
        {"Mistral-7B", "H100", "FP8", 1, 128, 6.5},  {"Mistral-7B", "H100", "FP8", 1, 2048, 32.4},
        {"LLaMA-70B", "H200", "FP8", 4, 128, 17.8},  {"LLaMA-70B", "H100", "FP8", 4, 128, 19.6},
        {"LLaMA-70B", "H100", "FP8", 8, 2048, 85.1}, {"LLaMA-7B", "A100", "FP16", 1, 128, 16.2},
        {"LLaMA-7B", "A100", "FP16", 1, 2048, 132.4}};
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text =
        g_string_new("source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,"
                     "throughput_tok_s,ttft_ms,tpot_ms,note,where\n");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_string_append_printf(text,
                               "TensorRT-LLM v0.9 perf-overview,%s,%s,%d,%d,1,,,%s,%d,1,1,,,%g,,"
                               "STATIC batch,x\n",
                               rows[i].model, rows[i].gpu, rows[i].gpus, rows[i].gpus,
                               rows[i].precision, rows[i].input, rows[i].ms);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text->str, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_served_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    CU_ASSERT_EQUAL(j->rows->len, G_N_ELEMENTS(rows));
    for (guint i = 0; i < j->rows->len; i++) {
        const RhEvaluatedRun *r = &g_array_index(j->rows, RhEvaluatedRun, i);
        CU_ASSERT_PTR_NULL(r->skipped);
        RH_CHECK_CLOSE(r->predicted_s, r->measured_s, 0.25);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"llama_7b_on_an_h100_is_as_fast_as_nvidia_says",
         llama_7b_on_an_h100_is_as_fast_as_nvidia_says},
        {"llama_70b_on_h200s_is_as_fast_as_nvidia_says",
         llama_70b_on_h200s_is_as_fast_as_nvidia_says},
        {"llama_7b_on_an_a100_is_as_fast_as_nvidia_says",
         llama_7b_on_an_a100_is_as_fast_as_nvidia_says},
        {"first_tokens_come_as_early_as_nvidia_says", first_tokens_come_as_early_as_nvidia_says},
        {0},
    };
    return rh_test_main("measured_servers", tests);
}
