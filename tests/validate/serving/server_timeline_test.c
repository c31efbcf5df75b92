/* Timelines of a server: constants of the machine are found again from the first requests. */
#include <glib/gstdio.h>

#include "base/error.h"
#include "tests/kit/serve_kit.h"
#include "validate/serving/server_timeline.h"

#define META                                                                                       \
    "{\"engine_kwargs\": {\"model\": \"meta-llama/Llama-3.1-8B\", \"max_num_seqs\": 32, "          \
    "\"max_num_batched_tokens\": 2048, \"tensor_parallel_size\": 1}}"

static char *put(const char *folder, const char *name, const char *text)
{
    char *path = g_build_filename(folder, name, NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static char *line_of(int32_t i, const RhRequestRecord *s)
{
    return g_strdup_printf("{\"request_id\": \"b-%d\", \"input_toks\": %d, \"output_toks\": %d, "
                           "\"queued_ts\": %.9f, \"first_token_ts\": %.9f, "
                           "\"last_token_ts\": %.9f}\n",
                           i, s->input_tokens, s->output_tokens, 5 + s->t_arrive_s,
                           5 + s->t_first_s, 5 + s->t_end_s);
}

/* Returns the timeline that a server with other constants would print. */
static char *made_up(int32_t count)
{
    Setting s = setting_of("llama-3.1-8b", "rtx-4090:1x1", "server=vllm,batch=32,chunk=2048");
    RhServer slow = *s.serving.server;
    slow.step_s.value = 2e-3;
    slow.sequence_s.value = 40e-6;
    slow.prompt_frac.value = 0.6;
    s.serving.server = &slow;
    g_autoptr(RhRequests) requests = drawn(count, 4, 800, 40);
    RhClient client = {0};
    g_autoptr(RhServiceResult) result = serve(&s, requests, &client);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < result->served->len; i++) {
        g_autofree char *line = line_of((int32_t)i, at(result, i));
        g_string_append(text, line);
    }
    close_setting(&s);
    return g_string_free(text, FALSE);
}

static RhEvaluation *judge(const char *text, const char *platform, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("rehearse-timeline-XXXXXX", NULL);
    g_autofree char *meta = put(folder, "meta.json", META),
                    *path = put(folder, "requests.jsonl", text);
    RhCasesOptions options = {.jobs = 1};
    RhEvaluation *evaluation = rh_timeline_judge(path, platform, &options, error);
    g_unlink(path);
    g_unlink(meta);
    g_rmdir(folder);
    return evaluation;
}

static void constants_are_found_again(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = made_up(160);
    g_autoptr(RhEvaluation) j = judge(text, "rtx-4090:1x1", &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    RhEvaluationFigures tpot = rh_evaluation_figures(j, RH_EVALUATION_BY_METRIC, "tpot"),
                        ttft = rh_evaluation_figures(j, RH_EVALUATION_BY_METRIC, "ttft");
    CU_ASSERT_EQUAL(j->rows->len, 320);
    CU_ASSERT_TRUE(tpot.figures.mape_frac < 0.03);
    CU_ASSERT_TRUE(ttft.figures.median_abs_error_frac < 0.1);
    int32_t fitted = 0;
    for (guint i = 0; i < j->rows->len; i++)
        fitted += g_array_index(j->rows, RhEvaluatedRun, i).fitted;
    CU_ASSERT_EQUAL(fitted, 2 * RH_TIMELINE_FITTED);
    RhEvaluationFigures known = rh_evaluation_figures(j, RH_EVALUATION_BY_EVIDENCE,
                                                      "tpot, used for fitting"),
                        held_out =
                            rh_evaluation_figures(j, RH_EVALUATION_BY_EVIDENCE, "tpot, held out");
    CU_ASSERT_EQUAL(known.figures.count, RH_TIMELINE_FITTED);
    CU_ASSERT_EQUAL(known.figures.count + held_out.figures.count, tpot.figures.count);
    CU_ASSERT_EQUAL(j->notes->len, 1);
}

static void check_wrong(const char *text, const char *platform, const char *why)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(judge(text, platform, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_TRUE(rh_test_says(error->message, why));
}

static void wrong_ones_are_told(void)
{
    g_autofree char *few = made_up(20);
    check_wrong(few, "rtx-4090:1x1", "20 requests");
    check_wrong(few, NULL, "whose device");
    check_wrong("{\"input_toks\": 3}\n", "rtx-4090:1x1", "output_toks");
    check_wrong("{\"input_toks\": 3, \"output_toks\": 2, \"queued_ts\": 4, "
                "\"first_token_ts\": 3, \"last_token_ts\": 5}\n",
                "rtx-4090:1x1", "is queued");
}

static const RhTest tests[] = {
    {"constants are found again", constants_are_found_again},
    {"wrong ones are told", wrong_ones_are_told},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("server_timeline", tests);
}
