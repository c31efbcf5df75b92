/* Findings on measured runs: what belongs to the job passes, what cannot be is told. */
#include "validate/runs/benchmark_plausibility.h"
#include "validate/runs/run_plausibility.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Llama 3.2 1B on 8 H100, 64 samples of 4,096 tokens: 0.4 s a step. */
static TrainKit job(void)
{
    return train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 64, 4096);
}

static RhRunLog *log_of(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhRunLog *log = rh_run_log_parse("their.log", text, &error);
    g_assert_no_error(error);
    return log;
}

/* Does the only finding say this? NULL: there is none. */
static void finds(const char *text, const char *layout, const char *part)
{
    g_auto(TrainKit) k = job();
    RhLayout l = train_layout(&k, layout);
    g_autoptr(RhRunLog) log = log_of(text);
    g_autoptr(GPtrArray) found = rh_run_log_findings(log, &k.c, &l);
    CU_ASSERT_EQUAL(found->len, part != NULL);
    if (part && found->len > 0)
        CU_ASSERT_TRUE(rh_test_says(found->pdata[0], part));
}

#define LINE(ms, rest)                                                                             \
    "iteration 1/ 9 | elapsed time per iteration (ms): " ms " | " rest                             \
    "\n[Rank 0] (after 1 iterations) memory (MB) | max allocated: "

static void a_run_that_can_be_has_no_finding(void)
{
    finds(LINE("500.0", "throughput per GPU (TFLOP/s/GPU): 500.0 |") "20480.0 |", "mb2", NULL);
    finds("iteration 1/ 9 | elapsed time per iteration (ms): 500.0 |\n", "mb2", NULL);
}

/* 64 x 4,096 tokens of 8.3 GFLOP are 2.2 PFLOP: on 8 x 989 TFLOP/s 0.27 s at least. */
static void no_gpu_exceeds_its_data_sheet(void)
{
    finds("iteration 1/ 9 | elapsed time per iteration (ms): 75.0 |\n", "mb2", "MFU cannot be");
    finds(LINE("500.0", "") "90000.0 |", "mb2", "is not of a h100-sxm");
}

static void a_log_of_another_job_is_told_by_its_flops_and_memory(void)
{
    finds(LINE("500.0", "throughput per GPU (TFLOP/s/GPU): 60.0 |") "20480.0 |", "mb2",
          "another model, batch");
    finds(LINE("500.0", "") "1024.0 |", "mb2", "less than the");
}

/* Each line contradicts the job in one figure, which is named with its line. */
static void what_a_log_says_of_its_run_must_be_the_job_s(void)
{
    static const struct {
        const char *head, *part; /* part NULL: it agrees */
    } logs[] = {
        {"  seq_length ...................................... 4096\n", NULL},
        {"  seq_length ...................................... 8192\n",
         "their.log:1:1: the run's tokens of a sample is 8,192, --seq says 4,096"},
        {"[default0]:  world_size ........................ 16\n", "the run's GPUs is 16"},
        {"  num_layers ...................................... 32\n", "the run's layers is 32"},
        {"  hidden_size ..................................... 4096\n", "hidden size is 4,096"},
    };
    g_auto(TrainKit) k = job();
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autofree char *text = g_strconcat(
            logs[i].head, "iteration 1/ 9 | elapsed time per iteration (ms): 500.0 |\n", NULL);
        g_autoptr(RhRunLog) log = log_of(text);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_EQUAL(rh_run_log_is_of(log, &k.c, NULL, &error), logs[i].part == NULL);
        if (logs[i].part)
            CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, logs[i].part));
    }
}

/* Frameworks count embeddings or not: both are the model's, and another model's are not. */
static void parameters_may_lack_embeddings(void)
{
    g_auto(TrainKit) k = job();
    static const struct {
        const char *count;
        bool same;
    } logs[] = {{"1,235,814,400", true}, {"973,146,112", true}, {"8,030,261,248", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autofree char *text = g_strdup_printf(
            "Model llama3 size: %s total parameters\nstep:  4  loss:  7.6  memory: 66.91GiB(37.51%%)  "
            "tps: 10,050\n",
            logs[i].count);
        g_autoptr(RhRunLog) log = log_of(text);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_EQUAL(rh_run_log_is_of(log, &k.c, NULL, &error), logs[i].same);
    }
}

static void a_server_s_figures_must_agree(void)
{
    g_auto(TrainKit) k = job();
    static const struct {
        double ttft[2], tokens, requests;
        const char *part;
    } rows[] = {{{0.1, 0.2}, 1280, 10, NULL},
                {{0.2, 0.1}, 1280, 10, "TTFT p99"},
                {{0.1, 0.2}, 1280, 100, "are not"},
                {{0.1, 0.2}, 1.28e8, 1e6, "cannot be"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhServiceResultFile f = {.format = "vllm bench serve", .output_tokens = 128};
        f.measured[RH_RESULT_TTFT_P50] = rows[i].ttft[0];
        f.measured[RH_RESULT_TTFT_P99] = rows[i].ttft[1];
        f.measured[RH_RESULT_TOKENS_PER_S] = rows[i].tokens;
        f.measured[RH_RESULT_REQUESTS_PER_S] = rows[i].requests;
        g_autoptr(GPtrArray) found =
            rh_service_findings(&f, k.model, &rh_recipe_bf16, k.bare->device, 8);
        CU_ASSERT_EQUAL(found->len, rows[i].part != NULL);
        if (rows[i].part && found->len > 0)
            CU_ASSERT_TRUE(rh_test_says(found->pdata[0], rows[i].part));
    }
}

int main(void)
{
    return rh_test_main(
        "findings",
        (RhTest[]){{"a_run_that_can_be_has_no_finding", a_run_that_can_be_has_no_finding},
                   {"no_gpu_exceeds_its_data_sheet", no_gpu_exceeds_its_data_sheet},
                   {"a_log_of_another_job_is_told_by_its_flops_and_memory",
                    a_log_of_another_job_is_told_by_its_flops_and_memory},
                   {"what_a_log_says_of_its_run_must_be_the_job_s",
                    what_a_log_says_of_its_run_must_be_the_job_s},
                   {"parameters_may_lack_embeddings", parameters_may_lack_embeddings},
                   {"a_server_s_figures_must_agree", a_server_s_figures_must_agree},
                   {0}});
}
