/* Logs of training runs: the typical time of closed forms, and lines as each framework prints them. */
#include "validate/runs/run_log.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhRunLog *parsed(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhRunLog *log = rh_run_log_parse("their.log", text, &error);
    g_assert_no_error(error);
    return log;
}

/* --- the typical time --- */

static RhRunTypical typical_of(const double *seconds, size_t count)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, TRUE, sizeof(RhRunSample));
    for (size_t i = 0; i < count; i++) {
        RhRunSample sample = {seconds[i], (int64_t)i, (int32_t)i + 1, 1};
        g_array_append_val(samples, sample);
    }
    return rh_run_typical(samples);
}

static void warm_up_and_stalls_are_left_out_and_counted(void)
{
    static const double seconds[] = {30, 4, 2.01, 2, 2, 9, 1.99, 2, 2, 12, 2, 2};
    RhRunTypical t = typical_of(seconds, G_N_ELEMENTS(seconds));
    CU_ASSERT_EQUAL(t.samples, 12);
    CU_ASSERT_EQUAL(t.warmup, 2);
    CU_ASSERT_EQUAL(t.stalls, 2);
    RH_CHECK_CLOSE(t.seconds, 2, 1e-12);
    CU_ASSERT_TRUE(t.spread_frac < 0.01);
}

static void a_quick_first_iteration_is_warm_up_too(void)
{
    static const double seconds[] = {0.6, 10.2, 10.3, 10.3, 10.4}; /* dispatched, not finished */
    RhRunTypical t = typical_of(seconds, G_N_ELEMENTS(seconds));
    CU_ASSERT_TRUE(t.warmup == 1 && t.stalls == 0);
    RH_CHECK_CLOSE(t.seconds, 10.3, 1e-12);
}

static void few_iterations_all_count(void)
{
    static const double seconds[] = {3, 1, 2};
    RhRunTypical t = typical_of(seconds, G_N_ELEMENTS(seconds));
    CU_ASSERT_TRUE(t.samples == 3 && t.warmup == 0 && t.stalls == 0);
    RH_CHECK_CLOSE(t.seconds, 2, 1e-12);
    RhRunTypical none = typical_of(seconds, 0);
    CU_ASSERT_EQUAL(none.seconds, 0);
}

/* Leaving out never takes more than half of a steady tail, whatever stands before it. */
static void a_steady_tail_is_the_time(void)
{
    for (int steady = 4; steady < 20; steady++) {
        double seconds[40];
        int count = 0;
        for (int i = 0; i < steady; i++)
            seconds[count++] = 50.0 - i;
        for (int i = 0; i < steady + 1; i++)
            seconds[count++] = 5;
        RhRunTypical t = typical_of(seconds, (size_t)count);
        RH_CHECK_CLOSE(t.seconds, 5, 1e-12);
        CU_ASSERT_EQUAL(t.warmup + t.stalls, steady);
    }
}

/* --- frameworks --- */

/* Lines made for this, in the form that each framework prints. */
static const struct {
    const char *format, *text;
    double step_s; /* of 64 samples of 1,000 tokens on 8 GPUs */
    double memory_bytes;
    bool reserved;
    int64_t global_batch;
} logs[] = {
    {"Megatron-LM",
     " [2026-01-01 00:00:01] iteration        7/     100 | consumed samples:          448 | elapsed "
     "time per iteration (ms): 2500.0 | global batch size:    64 | lm loss: 1.0E+00 |\n"
     "[Rank 0] (after 7 iterations) memory (MB) | allocated: 100.0 | max allocated: 900.0 | "
     "reserved: 950.0 | max reserved: 1024.0\n",
     2.5, 1073741824.0, true, 64},
    {"Megatron-LM",
     " iteration 7/ 100 | elapsed time per iteration (s): 2.5 | samples per second: 25.6\n", 2.5, 0,
     false, 0},
    {"NeMo",
     "Training epoch 0, iteration 7/99 | lr: 3e-05 | global_batch_size: 64 | global_step: 7 | "
     "reduced_train_loss: 1.2 | train_step_timing in s: 2.5 | consumed_samples: 512\n",
     2.5, 0, false, 64},
    {"NeMo", "Epoch 0: : 10%|# | 20/200 [00:50<07:30, v_num=1, train_step_timing in s=2.500]\n",
     2.5, 0, false, 0},
    {"NeMo AutoModel",
     "step 7 | epoch 0 | loss 1.3 | mem 1.50 GiB | tps 25600.0(3,200.00/gpu) | x\n", 2.5,
     1.5 * 1073741824.0, false, 0},
    {"torchtitan",
     "[titan] 2026-01-01 00:00:01,000 - root - INFO - \033[31mstep:  7  \033[32mloss:  7.6  "
     "\033[33mmemory: 1.00GiB(2.5%)  \033[34mtps: 3,200  \033[36mtflops: 3.0  mfu: 1.0%\033[39m\n",
     2.5, 1073741824.0, true, 0},
    {"torchtitan", "[rank0]:step:  7  loss:  7.6  memory: 2.00GiB(2.5%)  wps: 3,200  mfu: 1.0%\n",
     2.5, 2 * 1073741824.0, true, 0},
    {"DeepSpeed",
     "[2026-01-01 00:00:01,000] [INFO] [timer.py:264:stop] epoch=0/micro_step=40/global_step=10, "
     "RunningAvgSamplesPerSec=20.0, CurrSamplesPerSec=25.6, MemAllocated=1.0GB, "
     "MaxMemAllocated=2.0GB\n",
     2.5, 2 * 1073741824.0, false, 0},
    {"DeepSpeed", "[INFO] [timer.py:189:stop] 0/40, SamplesPerSec=25.6, MaxMemAllocated=2.0GB\n",
     2.5, 2 * 1073741824.0, false, 0},
    {"llm-foundry",
     "[batch=12/4800]:\n\t Train memory/peak_reserved_mem: 40.5\n"
     "\t Train throughput/batches_per_sec: 0.4\n\t Train throughput/device/tokens_per_sec: 3200.0\n",
     2.5, 40.5e9, true, 0},
    {"llm-foundry",
     "\t Train memory/reserved_mem: 40017854464\n\t throughput/tokens_per_sec: 25600.0\n", 2.5,
     40017854464.0, true, 0},
    {"MaxText",
     "completed step: 9, seconds: 2.500, TFLOP/s/device: 257.9, Tokens/s/device: 3200.0\n", 2.5, 0,
     false, 0},
    {"nanotron",
     "01/17/2026 13:47:27 [INFO|DP=0|PP=0|TP=0]: iteration: 991 / 1000 | consumed_tokens: 634K | "
     "elapsed_time_per_iteration_ms: 2.5K | global_batch_size: 64 | cuda_max_memory_reserved: 547M\n",
     2.5, 547e6, true, 64},
    {"fms-fsdp", "step: 100\ncurrent token per gpu per sec: 3200\nreserved memory: 1073741824\n",
     2.5, 1073741824.0, true, 0},
    {"nanoGPT or LitGPT", "iter 1631: loss 4.0863, time 2500.00ms, mfu 10.0%\n", 2.5, 0, false, 0},
    {"Hugging Face Trainer or another progress bar",
     "Loading checkpoint shards: 100%|##| 4/4 [00:05<00:00,  1.30s/it]\n"
     "Training: 50%|##   | 15/30 [07:57<00:00,  2.50s/it]\rEvaluating: 100%|##| 2/2 [00:19<00:00, "
     "9.58s/it]\nMax CUDA memory reserved was 55 GB\n",
     2.5, 55 * 1073741824.0, true, 0},
    {"Hugging Face Trainer or another progress bar",
     "{'train_runtime': 24.6, 'train_samples_per_second': 25.6, 'train_steps_per_second': 0.4}\n"
     "100%|###| 3/3 [00:24<00:00,  8.22s/it]\n100%|###| 7/7 [00:03<00:00,  1.92it/s]\n",
     2.5, 0, false, 0},
};

static void each_framework_s_lines_are_read(void)
{
    RhRunJob job = {64, 1000, 8};
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autoptr(RhRunLog) log = parsed(logs[i].text);
        CU_ASSERT_TRUE(rh_run_log_begins(logs[i].text));
        CU_ASSERT_STRING_EQUAL(log->format, logs[i].format);
        RH_CHECK_CLOSE(rh_run_log_step_s(log, &job), logs[i].step_s, 1e-9);
        RH_CHECK_CLOSE(log->memory_bytes, logs[i].memory_bytes, 1e-9);
        CU_ASSERT_EQUAL(log->memory_reserved, logs[i].reserved);
        CU_ASSERT_EQUAL(log->said[RH_SAID_BATCH].value, (double)logs[i].global_batch);
        CU_ASSERT_EQUAL(log->typical.samples, 1);
    }
}

/* Eight ranks print the same iteration: it counts once, as their mean. */
static void ranks_of_an_iteration_count_once(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int step = 1; step <= 3; step++)
        for (int rank = 0; rank < 8; rank++)
            g_string_append_printf(text,
                                   "[rank%d]: step: %d  loss: 1.0  memory: 1.00GiB  tps: %d\n",
                                   rank, step, rank % 2 ? 2000 : 1000);
    g_autoptr(RhRunLog) log = parsed(text->str);
    CU_ASSERT_EQUAL_FATAL(log->samples->len, 3);
    RH_CHECK_CLOSE(g_array_index(log->samples, RhRunSample, 0).seconds, 0.00075, 1e-9);
    CU_ASSERT_EQUAL(g_array_index(log->samples, RhRunSample, 0).lines, 8);
}

static void a_prefix_changes_nothing(void)
{
    static const char *const prefixes[] = {"0: ", "[pod/a/b] ", "node-1: ", "stdout: "};
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *text =
            g_strdup_printf("%s iteration 1/ 9 | elapsed time per iteration (ms): 2500.0 |\n"
                            "%s iteration 2/ 9 | elapsed time per iteration (ms): 2500.0 |\n",
                            prefixes[i], prefixes[i]);
        g_autoptr(RhRunLog) log = parsed(text);
        CU_ASSERT_EQUAL(log->samples->len, 2);
    }
}

static void what_is_no_log_is_refused(void)
{
    static const char *const texts[] = {"", "tp2,pp2\n", "{\"loss\": 1}\n",
                                        ("Loading checkpoint shards: 100%|##| 4/4 [00:05<00:00, "
                                         "1.30s/it]\n")};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_run_log_begins(texts[i]));
        CU_ASSERT_PTR_NULL(rh_run_log_parse("x", texts[i], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_run_log_parse(
        "x", " iteration 1/ 9 | elapsed time per iteration (ms): 9e300 |\n", &error));
    CU_ASSERT_TRUE(error && g_str_has_prefix(error->message, "x:1:1:"));
}

static void nothing_measured_is_negative(void)
{
    static const char *const texts[] = {
        " iteration 1/ 9 | elapsed time per iteration (ms): -5444.9 |\n",
        "step: 7  loss: 7.6  memory: -1.00GiB(2.5%)  tps: 3,200\n",
        "step: 7  loss: 7.6  memory: 1.00GiB(2.5%)  tps: -3,200\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_run_log_parse("x", texts[i], &error));
        CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, "x:1:1: "));
    }
}

/* The median over lines: one iteration that stalled does not tell the FLOP/s of the others. */
static void what_a_log_says_of_its_run_is_kept(void)
{
    g_autoptr(RhRunLog) log = parsed(
        "Training starts at step 1, with local batch size 1, global batch size 64, sequence length "
        "8192, total steps 10\nModel llama3 8B size: 8,030,261,248 total parameters\n"
        "step: 1  memory: 1.00GiB(2.5%)  tps: 400  tflops: 10.00  mfu: 1.0%\n"
        "step: 2  memory: 1.00GiB(2.5%)  tps: 4,000  tflops: 200.00  mfu: 1.0%\n"
        "step: 3  memory: 1.00GiB(2.5%)  tps: 4,000  tflops: 201.00  mfu: 1.0%\n");
    CU_ASSERT_EQUAL(log->said[RH_SAID_BATCH].value, 64);
    CU_ASSERT_EQUAL(log->said[RH_SAID_BATCH].line, 1);
    CU_ASSERT_EQUAL(log->said[RH_SAID_SEQUENCE].value, 8192);
    CU_ASSERT_EQUAL(log->said[RH_SAID_PARAMETERS].value, 8030261248.0);
    CU_ASSERT_EQUAL(log->said[RH_SAID_PARAMETERS].line, 2);
    RH_CHECK_CLOSE(log->said[RH_SAID_FLOPS].value, 200e12, 1e-9);
    CU_ASSERT_EQUAL(log->said[RH_SAID_LAYERS].value, 0);
}

static void what_was_left_out_is_said(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    static const int ms[] = {30000, 2000, 2000, 2000, 9000, 2000, 2000, 2000};
    for (size_t i = 0; i < G_N_ELEMENTS(ms); i++)
        g_string_append_printf(text, " iteration %zu/ 9 | elapsed time per iteration (ms): %d |\n",
                               i + 1, ms[i]);
    g_autoptr(RhRunLog) log = parsed(text->str);
    g_autofree char *said = rh_run_log_describe(log);
    CU_ASSERT_STRING_EQUAL(said, "Megatron-LM's log, median of 6 of 8 iterations, 1 of the warm-up "
                                 "and 1 that stalled left out");
}

int main(void)
{
    return rh_test_main(
        "run_log",
        (RhTest[]){
            {"warm_up_and_stalls_are_left_out_and_counted",
             warm_up_and_stalls_are_left_out_and_counted},
            {"a_quick_first_iteration_is_warm_up_too", a_quick_first_iteration_is_warm_up_too},
            {"few_iterations_all_count", few_iterations_all_count},
            {"a_steady_tail_is_the_time", a_steady_tail_is_the_time},
            {"each_framework_s_lines_are_read", each_framework_s_lines_are_read},
            {"ranks_of_an_iteration_count_once", ranks_of_an_iteration_count_once},
            {"a_prefix_changes_nothing", a_prefix_changes_nothing},
            {"what_is_no_log_is_refused", what_is_no_log_is_refused},
            {"nothing_measured_is_negative", nothing_measured_is_negative},
            {"what_a_log_says_of_its_run_is_kept", what_a_log_says_of_its_run_is_kept},
            {"what_was_left_out_is_said", what_was_left_out_is_said},
            {0}});
}
