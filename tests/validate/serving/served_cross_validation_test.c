/* Cross-validation of services: what a group's own rows say has no part in its predictions. */
#include <string.h>

#include "tests/kit/testkit.h"
#include "validate/serving/served_vs_predicted.h"

#define HEADER                                                                                     \
    "source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,"                \
    "throughput_tok_s,ttft_ms,tpot_ms,note,where\n"
#define SILICON "aiconfigurator silicon_sample"

static const int at_once[] = {2, 4, 8, 12, 16, 24, 32, 48};
#define ROWS G_N_ELEMENTS(at_once)

/* Rows of Llama-3.1-70B on H200, to which constants of vLLM were fitted, and of another model on B200
 * and on H100; times of the former are multiplied by `own`, of the latter by `others`. */
static RhCaseTable *table_of(double own, double others, size_t others_count)
{
    g_autoptr(GString) text = g_string_new(HEADER);
    for (size_t i = 0; i < ROWS; i++)
        g_string_append_printf(
            text,
            SILICON ",meta-llama/Llama-3.1-70B,h200_sxm,4,4,1,1,1,fp8,512,32,%d,,,"
                    "%.6f,%.6f,agg; vllm ; moe_tp=4,x\n",
            at_once[i], own * (60 + 7.0 * at_once[i]), own * (9 + 0.1 * at_once[i]));
    for (size_t i = 0; i < others_count; i++)
        g_string_append_printf(
            text,
            SILICON ",meta-llama/Llama-3.1-70B,h100_sxm,4,4,1,1,1,fp8,512,32,%d,,,"
                    "%.6f,%.6f,agg; vllm ; moe_tp=4,x\n",
            at_once[i], others * (70 + 9.0 * at_once[i]), others * (12 + 0.1 * at_once[i]));
    g_autoptr(GError) error = NULL;
    RhCaseTable *table = rh_case_table_parse("t.csv", text->str, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return table;
}

static RhEvaluation *judge(double own, double others, size_t others_count,
                           RhCrossValidationGroups by, int32_t jobs)
{
    g_autoptr(RhCaseTable) table = table_of(own, others, others_count);
    RhCasesOptions options = {.jobs = jobs, .cross = by};
    RhEvaluation *evaluation = rh_served_judge(table, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(evaluation);
    return evaluation;
}

static const RhEvaluatedRun *at(const RhEvaluation *evaluation, guint i)
{
    CU_ASSERT_TRUE_FATAL(i < evaluation->rows->len);
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

/* Do the predictions of rows from..to agree? */
static bool predict_alike(const RhEvaluation *a, const RhEvaluation *b, guint from, guint to)
{
    bool alike = true;
    for (guint i = from; i < to; i++) {
        CU_ASSERT_PTR_NULL_FATAL(at(a, i)->skipped);
        CU_ASSERT_PTR_NULL_FATAL(at(b, i)->skipped);
        alike &= at(a, i)->predicted_s == at(b, i)->predicted_s;
    }
    return alike;
}

static void own_rows_have_no_part_in_their_predictions(void)
{
    g_autoptr(RhEvaluation) as_is = judge(1, 1, ROWS, RH_CROSS_MODEL_GPU, 1);
    g_autoptr(RhEvaluation) own = judge(3, 1, ROWS, RH_CROSS_MODEL_GPU, 2);
    g_autoptr(RhEvaluation) others = judge(1, 3, ROWS, RH_CROSS_MODEL_GPU, 1);
    g_autoptr(RhEvaluation) shipped = judge(1, 1, ROWS, RH_CROSS_NONE, 1);
    CU_ASSERT_EQUAL(as_is->rows->len, 4 * ROWS);
    CU_ASSERT_STRING_EQUAL(at(as_is, 0)->cross_group, "llama-3.1-70b on h200-sxm");
    CU_ASSERT_STRING_EQUAL(at(as_is, 2 * ROWS)->cross_group, "llama-3.1-70b on h100-sxm");
    CU_ASSERT_PTR_NULL(at(shipped, 0)->cross_group);
    CU_ASSERT_TRUE(as_is->crossed && !shipped->crossed);
    CU_ASSERT_TRUE(predict_alike(as_is, own, 0, 2 * ROWS));
    CU_ASSERT_FALSE(predict_alike(as_is, others, 0, 2 * ROWS));
    CU_ASSERT_FALSE(predict_alike(as_is, shipped, 0, 2 * ROWS));
    CU_ASSERT_TRUE(at(shipped, 0)->fitted && !at(as_is, 0)->fitted);
}

static void what_no_other_group_tells_is_not_predicted(void)
{
    g_autoptr(RhEvaluation) few = judge(1, 1, 4, RH_CROSS_MODEL_GPU, 1);
    for (guint i = 0; i < 2 * ROWS; i++)
        CU_ASSERT_TRUE(at(few, i)->skipped && strstr(at(few, i)->skipped, "no other group"));
    CU_ASSERT_PTR_NULL(at(few, 2 * ROWS)->skipped);
}

static void groups_have_names(void)
{
    RhCrossRun of = {"m", "d", "s", "t"};
    static const char *const names[] = {"m on d", "s", "t", "d"};
    for (int by = RH_CROSS_MODEL_GPU; by < RH_CROSS_LAST; by++) {
        CU_ASSERT_STRING_EQUAL(rh_cross_group_name((RhCrossValidationGroups)by, &of),
                               names[by - RH_CROSS_MODEL_GPU]);
        CU_ASSERT_EQUAL((int)rh_cross_by_parse(rh_cross_by_name((RhCrossValidationGroups)by)), by);
    }
    CU_ASSERT_EQUAL(rh_cross_by_parse("colour"), RH_CROSS_NONE);
    CU_ASSERT_EQUAL(rh_cross_by_parse(NULL), RH_CROSS_NONE);
}

int main(void)
{
    static const RhTest tests[] = {
        {"own_rows_have_no_part_in_their_predictions", own_rows_have_no_part_in_their_predictions},
        {"what_no_other_group_tells_is_not_predicted", what_no_other_group_tells_is_not_predicted},
        {"groups_have_names", groups_have_names},
        {NULL, NULL},
    };
    return rh_test_main("served_cross_validation", tests);
}
