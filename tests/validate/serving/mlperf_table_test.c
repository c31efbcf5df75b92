/* Tables of MLPerf Inference results: an offered rate, percentiles, and a published configuration. */
#include <string.h>

#include "tests/kit/testkit.h"
#include "validate/serving/served_vs_predicted.h"

/* An invented result of one H200: its figures are round. */
#define TABLE                                                                                      \
    "submitter,platform,accelerator,accelerators,model,scenario,weights,software,target_qps,"      \
    "completed_tokens_s,ttft_mean_ms,ttft_p50_ms,ttft_p90_ms,ttft_p99_ms,ttft_p999_ms,"            \
    "tpot_mean_ms,tpot_p50_ms,tpot_p90_ms,tpot_p99_ms,tpot_p999_ms,ttft_limit_ms,tpot_limit_ms,"   \
    "tokens_per_sample,tp,pp,max_batch,max_num_tokens,kv_dtype,kv_mem_fraction,"                   \
    "engine_precision,where\n"                                                                     \
    "Somebody,a node,NVIDIA H200-SXM-141GB,1,llama2-70b-99,Server,fp8,TensorRT 10.8,4,1200,100,"   \
    "90,150,200,300,40,40,50,60,70,2000,200,290,1,1,2048,1536,fp8,0.9,fp8,somewhere\n"             \
    "Somebody,a node,NVIDIA H200-SXM-141GB,1,llama2-70b-99,Offline,fp8,TensorRT 10.8,4,4000,,,,,," \
    ",,,,,2000,200,290,1,1,2048,1536,fp8,0.9,fp8,somewhere\n"

static RhEvaluation *judge(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", TABLE, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    CU_ASSERT_EQUAL(table->kind, RH_CASE_SERVING);
    RhCasesOptions options = {.jobs = 1};
    RhEvaluation *evaluation = rh_served_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(evaluation);
    return evaluation;
}

/* Returns the row of a metric; a missing one fails. */
static const RhEvaluatedRun *row_of(const RhEvaluation *evaluation, const char *metric)
{
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *r = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        if (strcmp(r->metric, metric) == 0)
            return r;
    }
    CU_FAIL_FATAL("a metric is missing");
    return NULL;
}

static void configurations_are_deployments(void)
{
    g_autoptr(RhEvaluation) j = judge();
    CU_ASSERT_STRING_EQUAL(row_of(j, "ttft")->strategy,
                           "server=trtllm-max-util,tp1,batch=2048,chunk=1536,kv=fp8,memory=90");
}

/* An offered rate is no throughput: such a row has a rate within limits, and a queue's row has tokens a second. */
static void figures_are_those_of_the_scenario(void)
{
    g_autoptr(RhEvaluation) j = judge();
    CU_ASSERT_EQUAL(j->rows->len, 12); /* two means, eight percentiles, a rate; a throughput */
    CU_ASSERT_EQUAL(row_of(j, "rate_in_limits")->measured_s, 4);
    CU_ASSERT_EQUAL(row_of(j, "throughput")->line, 3);
}

static void percentiles_ascend(void)
{
    static const char *const names[][4] = {{"ttft_p50", "ttft_p90", "ttft_p99", "ttft_p99.9"},
                                           {"tpot_p50", "tpot_p90", "tpot_p99", "tpot_p99.9"}};
    g_autoptr(RhEvaluation) j = judge();
    for (int k = 0; k < 2; k++)
        for (int i = 1; i < 4; i++)
            CU_ASSERT_TRUE(row_of(j, names[k][i])->predicted_s >
                           row_of(j, names[k][i - 1])->predicted_s);
}

/* An H200 multiplies 1,979 TFLOP/s in fp8, and each of 222 + 290 tokens takes 2 x 69e9: 28 requests a
 * second at most. The limits are kept at the rate that was offered, which a seventh of that is. */
static void rates_in_limits_are_below_the_peak(void)
{
    g_autoptr(RhEvaluation) j = judge();
    double rate = row_of(j, "rate_in_limits")->predicted_s;
    CU_ASSERT_TRUE(rate > 4);
    CU_ASSERT_TRUE(rate < 1979e12 / (2 * 69e9 * (222 + 290)));
}

static const RhTest tests[] = {
    {"configurations are deployments", configurations_are_deployments},
    {"figures are those of the scenario", figures_are_those_of_the_scenario},
    {"percentiles ascend", percentiles_ascend},
    {"rates in limits are below the peak", rates_in_limits_are_below_the_peak},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("mlperf_table", tests);
}
