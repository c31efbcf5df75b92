/* Requests of data sets and of benchmarks' results. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/requests/requests_json.h"

static RhRequests *read(const char *text, double chars, GError **error)
{
    CU_ASSERT_TRUE_FATAL(rh_requests_json_is(text));
    return rh_requests_json_parse("file", text, strlen(text), chars, false, error);
}

static void check_lengths(const RhRequests *list, guint i, int32_t input, int32_t output)
{
    CU_ASSERT_TRUE_FATAL(i < list->list->len);
    const RhRequest *q = &g_array_index(list->list, RhRequest, i);
    CU_ASSERT_EQUAL(q->input_tokens, input);
    CU_ASSERT_EQUAL(q->output_tokens, output);
}

/* A token for each four characters, rounded up, whatever the bytes of a character. */
static void texts_are_estimated_by_their_characters(void)
{
    static const char text[] =
        "[{\"id\": \"a\", \"conversations\": [{\"value\": \"12345678\"}, {\"value\": \"123456789\"}]},\n"
        " {\"conversations\": [{\"value\": \"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f ]}\"}, {\"value\": "
        "\"\\\"x\\\\\"}]},\n"
        " {\"conversations\": [{\"value\": \"alone\"}]}]";
    GError *error = NULL;
    g_autoptr(RhRequests) list = read(text, 4, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(list->list->len, 2);
    check_lengths(list, 0, 2, 3);
    check_lengths(list, 1, 2, 1);
    CU_ASSERT_EQUAL(list->chars_per_token, 4);
    CU_ASSERT_EQUAL(list->skipped_count, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(list->skipped_first, "file:3:2: "));
    g_autoptr(RhRequests) finer = read(text, 1, &error);
    check_lengths(finer, 0, 8, 9);
}

static void batches_say_the_longest_answer(void)
{
    GError *error = NULL;
    g_autoptr(RhRequests) list = read(
        "{\"custom_id\": \"1\", \"body\": {\"messages\": [{\"content\": \"12345678\"}, "
        "{\"content\": [{\"type\": \"text\", \"text\": \"1234\"}]}], \"max_tokens\": 9}}\n\n"
        "{\"custom_id\": \"2\", \"body\": {\"prompt\": \"1234\", \"max_completion_tokens\": 7}}\n",
        4, &error);
    g_assert_no_error(error);
    check_lengths(list, 0, 3, 9);
    check_lengths(list, 1, 1, 7);
    CU_ASSERT_FALSE(list->timed);
    CU_ASSERT_PTR_NULL(read("{\"custom_id\": \"1\", \"body\": {\"prompt\": \"1234\"}}", 4, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(g_str_has_prefix(error->message, "file:1:1: "));
    g_clear_error(&error);
}

static void records_have_their_times(void)
{
    GError *error = NULL;
    g_autoptr(RhRequests) list = read(
        "{\"metadata\": {\"request_start_ns\": 1000000000, \"benchmark_phase\": \"warmup\"}, "
        "\"metrics\": {\"input_sequence_length\": {\"value\": 1}, \"output_sequence_length\": "
        "{\"value\": 1}}}\n"
        "{\"metadata\": {\"request_start_ns\": 5000000000}, \"metrics\": {\"input_sequence_length\": "
        "{\"value\": 550}, \"output_sequence_length\": {\"value\": 100}}, \"error\": null}\n"
        "{\"metadata\": {\"request_start_ns\": 5500000000}, \"metrics\": {\"input_sequence_length\": "
        "{\"value\": 560}, \"output_sequence_length\": {\"value\": 110}}}\n",
        4, &error);
    g_assert_no_error(error);
    CU_ASSERT_TRUE(list->timed);
    CU_ASSERT_EQUAL(list->list->len, 2);
    check_lengths(list, 1, 560, 110);
    RH_CHECK_CLOSE(g_array_index(list->list, RhRequest, 1).t_s, 0.5, 1e-9);
    CU_ASSERT_EQUAL(list->chars_per_token, 0);
}

static void results_of_benchmarks_are_requests(void)
{
    GError *error = NULL;
    g_autoptr(RhRequests) list = read("{\"total_input_tokens\": 30, \"total_output_tokens\": 3, "
                                      "\"completed\": 2, \"input_lens\": [10, 20, 7], "
                                      "\"output_lens\": [1, 2, 0]}\n{\"total_input_tokens\": 1}\n",
                                      4, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(list->list->len, 2);
    CU_ASSERT_EQUAL(list->skipped_count, 1);
    check_lengths(list, 1, 20, 2);
    g_autoptr(RhRequests) guided = read(
        "{\"benchmarks\": [{\"requests\": {\"successful\": [{\"prompt_tokens\": 5, "
        "\"output_tokens\": 6, \"start_time\": 10.5}, {\"input_metrics\": {\"text_tokens\": 7}, "
        "\"output_metrics\": {\"text_tokens\": 8}, \"start_time\": 12}]}}]}",
        4, &error);
    g_assert_no_error(error);
    check_lengths(guided, 0, 5, 6);
    check_lengths(guided, 1, 7, 8);
    RH_CHECK_CLOSE(g_array_index(guided->list, RhRequest, 1).t_s, 1.5, 1e-9);
}

/* Means alone are no requests, and the way out has their lengths. */
static void means_say_how_to_draw_such_requests(void)
{
    static const char *const texts[] = {
        "{\"completed\": 2, \"total_input_tokens\": 1100, \"total_output_tokens\": 1200}",
        "{\"input_sequence_length\": {\"avg\": 550}, \"output_sequence_length\": {\"avg\": 600}}"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(read(texts[i], 4, &error));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "lengths in=550,out=600"));
    }
}

static void other_files_are_none(void)
{
    static const char *const texts[] = {"arrival_s,input_tokens,output_tokens\n",
                                        "{\"timestamp\": 0, \"input_length\": 1}", "", "[1, 2]"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        CU_ASSERT_FALSE(rh_requests_json_is(texts[i]));
}

int main(void)
{
    return rh_test_main(
        "requests_json",
        (RhTest[]){
            {"texts_are_estimated_by_their_characters", texts_are_estimated_by_their_characters},
            {"batches_say_the_longest_answer", batches_say_the_longest_answer},
            {"records_have_their_times", records_have_their_times},
            {"results_of_benchmarks_are_requests", results_of_benchmarks_are_requests},
            {"means_say_how_to_draw_such_requests", means_say_how_to_draw_such_requests},
            {"other_files_are_none", other_files_are_none},
            {0}});
}
