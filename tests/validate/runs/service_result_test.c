/* Results of benchmarks of servers, in the forms of five tools. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "validate/runs/service_result.h"

static RhServiceResultFile *read_result_text(const char *text)
{
    GError *error = NULL;
    CU_ASSERT_TRUE_FATAL(rh_service_figures_are(text));
    RhServiceResultFile *f = rh_service_figures_parse("file", text, strlen(text), &error);
    g_assert_no_error(error);
    return f;
}

static void vllm_gives_totals_and_milliseconds(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "{\"model_id\": \"a/b\", \"tokenizer_id\": \"x\", \"request_rate\": \"inf\", "
        "\"max_concurrency\": 16, \"completed\": 4, \"total_input_tokens\": 4096, "
        "\"total_output_tokens\": 512, \"output_throughput\": 30.5, \"request_throughput\": 0.25, "
        "\"mean_ttft_ms\": 60.0, \"median_ttft_ms\": 50, \"p99_ttft_ms\": 70, \"mean_tpot_ms\": 10}");
    CU_ASSERT_STRING_EQUAL(f->format, "vllm bench serve");
    CU_ASSERT_STRING_EQUAL(f->model, "a/b");
    CU_ASSERT_EQUAL(f->concurrency, 16);
    CU_ASSERT_TRUE(isinf(f->rate_per_s));
    CU_ASSERT_EQUAL(f->count, 4);
    RH_CHECK_CLOSE(f->input_tokens, 1024, 1e-9);
    RH_CHECK_CLOSE(f->output_tokens, 128, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_MEAN], 0.06, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_P50], 0.05, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TPOT_MEAN], 0.01, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TOKENS_PER_S], 30.5, 1e-9);
    CU_ASSERT_EQUAL(f->measured[RH_RESULT_TPOT_P99], 0);
    CU_ASSERT_FALSE(f->inferred);
}

/* SGLang appends a document for each run: the first is read. */
static void sglang_appends_runs(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "{\"backend\": \"sglang\", \"request_rate\": 4.5, \"completed\": 10, "
        "\"total_input_tokens\": 100, \"total_output_tokens\": 50, \"mean_ttft_ms\": 8}\n"
        "{\"backend\": \"sglang\", \"mean_ttft_ms\": 9}\n");
    CU_ASSERT_STRING_EQUAL(f->format, "SGLang bench_serving");
    RH_CHECK_CLOSE(f->rate_per_s, 4.5, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_MEAN], 0.008, 1e-9);
}

/* 0.15 answers a second of 6.6 seconds are one client (Little's law). */
static void clients_follow_from_rate_and_latency(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "{\"request_throughput\": {\"unit\": \"requests/sec\", \"avg\": 0.15}, "
        "\"request_latency\": {\"unit\": \"ms\", \"avg\": 6600}, \"time_to_first_token\": "
        "{\"avg\": 44.1, \"p99\": 48.1}, \"input_sequence_length\": {\"avg\": 550}, "
        "\"output_sequence_length\": {\"avg\": 600}}");
    CU_ASSERT_STRING_EQUAL(f->format, "AIPerf");
    CU_ASSERT_TRUE(f->inferred);
    CU_ASSERT_EQUAL(f->concurrency, 1);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_P99], 0.0481, 1e-9);
    RH_CHECK_CLOSE(f->output_tokens, 600, 1e-9);
}

static void guidellm_nests_its_metrics(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "{\"benchmarks\": [{\"args\": {\"strategy\": {\"type_\": \"concurrent\", \"streams\": 8}}, "
        "\"metrics\": {\"time_to_first_token_ms\": {\"successful\": {\"mean\": 30, \"median\": 29, "
        "\"percentiles\": {\"p99\": 35}}}, \"prompt_token_count\": {\"successful\": {\"mean\": "
        "256}}, \"output_token_count\": {\"successful\": {\"mean\": 128}}}}]}");
    CU_ASSERT_STRING_EQUAL(f->format, "GuideLLM");
    CU_ASSERT_EQUAL(f->concurrency, 8);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_P99], 0.035, 1e-9);
    RH_CHECK_CLOSE(f->input_tokens, 256, 1e-9);
}

static void inferencex_counts_seconds(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "[{\"hw\": \"h200\", \"conc\": 64, \"isl\": 1024, \"osl\": 1024, \"model\": \"a/b\", "
        "\"mean_ttft\": 0.42, \"mean_tpot\": 0.034}]");
    CU_ASSERT_STRING_EQUAL(f->format, "InferenceX");
    CU_ASSERT_EQUAL(f->concurrency, 64);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TPOT_MEAN], 0.034, 1e-9);
}

static void what_holds_no_figure_is_refused(void)
{
    GError *error = NULL;
    static const char text[] = "{\"mean_ttft_ms\": 0, \"completed\": 0}";
    CU_ASSERT_PTR_NULL(rh_service_figures_parse("file", text, strlen(text), &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, "no request was answered"));
    g_clear_error(&error);
    static const char negative[] = "{\"mean_ttft_ms\": 5,\n \"p99_ttft_ms\": -1}";
    CU_ASSERT_PTR_NULL(rh_service_figures_parse("file", negative, strlen(negative), &error));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, "file:2:"));
    g_clear_error(&error);
    CU_ASSERT_FALSE(rh_service_figures_are("{\"conversations\": []}"));
    CU_ASSERT_FALSE(rh_service_figures_are("source,model\n"));
}

/* SGLang writes a rate without bound as JSON has no word for. */
static void a_rate_without_bound_is_read(void)
{
    g_autoptr(RhServiceResultFile) f = read_result_text(
        "{\"request_rate\": Infinity, \"completed\": 2, \"total_input_tokens\": 20, "
        "\"total_output_tokens\": 8, \"mean_ttft_ms\": 60.0}");
    CU_ASSERT_TRUE(isinf(f->rate_per_s));
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_MEAN], 0.06, 1e-9);
}

static void what_is_printed_is_read_as_what_is_written(void)
{
    g_autoptr(RhServiceResultFile) f =
        read_result_text("$ vllm bench serve\n==== Serving Benchmark Result ====\n"
                         "Successful requests:                     1000\n"
                         "Maximum request concurrency:             64\n"
                         "Total input tokens:                      1024000\n"
                         "Total generated tokens:                  128000\n"
                         "Output token throughput (tok/s):         1451.05\n"
                         "Mean TTFT (ms):                          412.11\nP99 TPOT (ms):   61.13\n"
                         "==== Serving Benchmark Result ====\nMean TTFT (ms):  1.0\n");
    CU_ASSERT_STRING_EQUAL(f->format, "vllm bench serve");
    CU_ASSERT_EQUAL(f->concurrency, 64);
    RH_CHECK_CLOSE(f->input_tokens, 1024, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TTFT_MEAN], 0.41211, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TPOT_P99], 0.06113, 1e-9);
    RH_CHECK_CLOSE(f->measured[RH_RESULT_TOKENS_PER_S], 1451.05, 1e-9);
    g_autoptr(RhServiceResultFile) other =
        read_result_text("Serving Benchmark Result\nBackend:  sglang\nTraffic request rate:  inf\n"
                         "Mean TTFT (ms): 2\n");
    CU_ASSERT_STRING_EQUAL(other->format, "SGLang bench_serving");
    CU_ASSERT_TRUE(isinf(other->rate_per_s));
}

int main(void)
{
    return rh_test_main(
        "service_result",
        (RhTest[]){{"vllm_gives_totals_and_milliseconds", vllm_gives_totals_and_milliseconds},
                   {"sglang_appends_runs", sglang_appends_runs},
                   {"clients_follow_from_rate_and_latency", clients_follow_from_rate_and_latency},
                   {"guidellm_nests_its_metrics", guidellm_nests_its_metrics},
                   {"inferencex_counts_seconds", inferencex_counts_seconds},
                   {"what_holds_no_figure_is_refused", what_holds_no_figure_is_refused},
                   {"a_rate_without_bound_is_read", a_rate_without_bound_is_read},
                   {"what_is_printed_is_read_as_what_is_written",
                    what_is_printed_is_read_as_what_is_written},
                   {0}});
}
