/* Constants of a server: what was put into runs is found in them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "validate/serving/served_fit.h"
#include "validate/serving/served_vs_predicted.h"

#define HEADER                                                                                     \
    "source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,"                \
    "throughput_tok_s,ttft_ms,tpot_ms,note,where\n"
#define LATER_MS 30.0

static const struct {
    int tp, isl, osl, at_once;
} runs[] = {{1, 512, 64, 4},  {1, 512, 64, 16},  {2, 512, 64, 32}, {1, 2048, 32, 8},
            {2, 2048, 32, 4}, {1, 1024, 64, 64}, {2, 512, 96, 64}, {2, 2048, 48, 16}};

/* The runs as a table, with these figures of each. */
static RhCaseTable *table_of(const double *ttft_ms, const double *tpot_ms)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(HEADER);
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++)
        g_string_append_printf(text,
                               "bench,meta-llama/Llama-3.1-8B,h100_sxm,%d,%d,1,1,1,bf16,%d,%d,%d,,,"
                               "%.9f,%.9f,agg; vllm,x\n",
                               runs[i].tp, runs[i].tp, runs[i].isl, runs[i].osl, runs[i].at_once,
                               ttft_ms ? ttft_ms[i] : 1000.0 + (double)i,
                               tpot_ms ? tpot_ms[i] : 100.0);
    RhCaseTable *table = rh_case_table_parse("t.csv", text->str, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return table;
}

/* Predicts the rows with the constants of the tree. */
static void predict(double *ttft_ms, double *tpot_ms)
{
    g_autoptr(RhCaseTable) table = table_of(NULL, NULL);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) evaluation = rh_served_judge(table, &options, NULL);
    CU_ASSERT_EQUAL_FATAL(evaluation->rows->len, 2 * G_N_ELEMENTS(runs));
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        CU_ASSERT_PTR_NULL_FATAL(row->skipped);
        (strcmp(row->metric, "ttft") == 0 ? ttft_ms : tpot_ms)[i / 2] = 1e3 * row->predicted_s;
    }
}

static const RhServedConstant *constant(const RhServedFit *fit, const char *key)
{
    for (int32_t i = 0; i < fit->constants_count; i++)
        if (strcmp(fit->constants[i].key, key) == 0)
            return &fit->constants[i];
    CU_FAIL_FATAL("no such constant");
    return NULL;
}

/* Clients that have their tokens 30 ms later: nothing else changes. */
static void what_was_put_in_is_found(void)
{
    double ttft_ms[G_N_ELEMENTS(runs)], tpot_ms[G_N_ELEMENTS(runs)];
    g_autoptr(GError) error = NULL;
    predict(ttft_ms, tpot_ms);
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++)
        ttft_ms[i] += LATER_MS;
    g_autoptr(RhCaseTable) table = table_of(ttft_ms, tpot_ms);
    RhServedFitOptions options = {.holdout_frac = 0.25};
    g_autoptr(RhServedFit) fit = rh_served_fit(table, &options, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_STRING_EQUAL(fit->server, "vllm");
    CU_ASSERT_EQUAL(fit->fitted_count, 6);
    CU_ASSERT_EQUAL(fit->held_out_count, 2);
    const RhServedConstant *first = constant(fit, "first"), *step = constant(fit, "step");
    const RhServedConstant *admit = constant(fit, "admit"); /* of a lone wave the two are one */
    RH_CHECK_CLOSE(first->value + admit->value, first->before + admit->before + 1e-3 * LATER_MS,
                   0.1);
    CU_ASSERT_TRUE(first->low <= first->value && first->value <= first->high);
    CU_ASSERT_TRUE(step->determined);
    CU_ASSERT_FALSE(constant(fit, "launch")->determined);
    CU_ASSERT_TRUE(fit->ttft[1].before.mape_frac > 0.05);
    CU_ASSERT_TRUE(fit->ttft[1].fitted.mape_frac < 0.2 * fit->ttft[1].before.mape_frac);
    CU_ASSERT_TRUE(fit->tpot[1].fitted.mape_frac < 0.01);
}

/* Constants of a slow server are found from rows that give tokens a second alone. */
static void tokens_a_second_tell_constants_too(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(HEADER);
    static const double rates[] = {100, 350, 500, 120, 70, 1000, 800, 200};
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++)
        g_string_append_printf(text,
                               "bench,meta-llama/Llama-3.1-8B,h100_sxm,%d,%d,1,1,1,bf16,%d,%d,%d,,"
                               "%g,,,agg; vllm,x\n",
                               runs[i].tp, runs[i].tp, runs[i].isl, runs[i].osl, runs[i].at_once,
                               rates[i]);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text->str, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhServedFitOptions options = {.holdout_frac = 0.5};
    g_autoptr(RhServedFit) fit = rh_served_fit(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_EQUAL(fit->fitted_count, 4);
    CU_ASSERT_EQUAL(fit->throughput[0].fitted.count, 4);
    CU_ASSERT_EQUAL(fit->throughput[1].before.count, 4);
    CU_ASSERT_EQUAL(fit->tpot[0].fitted.count + fit->ttft[1].fitted.count, 0);
    CU_ASSERT_TRUE(constant(fit, "step")->determined);
    CU_ASSERT_FALSE(constant(fit, "first")->determined);
    CU_ASSERT_FALSE(constant(fit, "admit")->determined);
    CU_ASSERT_TRUE(fit->throughput[0].fitted.mape_frac < fit->throughput[0].before.mape_frac);
    CU_ASSERT_TRUE(fit->throughput[1].fitted.mape_frac < fit->throughput[1].before.mape_frac);
}

static void expect_refusal(const RhServedFitOptions *options, int code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = table_of(NULL, NULL);
    CU_ASSERT_PTR_NULL(rh_served_fit(table, options, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, code));
}

static void what_cannot_be_fitted_is_refused(void)
{
    expect_refusal(&(RhServedFitOptions){.server = "sglang"}, RH_ERROR_USAGE);
    expect_refusal(&(RhServedFitOptions){.only = "nobody's"}, RH_ERROR_USAGE);
    expect_refusal(&(RhServedFitOptions){.timeout_s = 1e-6}, RH_ERROR_NO_ANSWER);
}

int main(void)
{
    static const RhTest tests[] = {
        /* left out with sanitizers: the next fits in the same way, in a third of the time */
        {"what was put in is found", what_was_put_in_is_found},
        {"tokens a second tell constants too", tokens_a_second_tell_constants_too},
        {"what cannot be fitted is refused", what_cannot_be_fitted_is_refused},
        {0}};
    return rh_test_main("served_fit", tests + RH_TRIES(0, 1));
}
