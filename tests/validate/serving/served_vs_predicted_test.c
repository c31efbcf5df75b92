/* Published serving runs: what rows mean, and what is left out. */
#include <string.h>

#include "tests/kit/testkit.h"
#include "validate/serving/a2a_published.h"
#include "validate/serving/kv_cache_sizes.h"
#include "validate/serving/served_vs_predicted.h"

#define HEADER                                                                                     \
    "source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,"                \
    "throughput_tok_s,ttft_ms,tpot_ms,note,where\n"
#define SILICON "aiconfigurator silicon_sample"

static RhEvaluation *judge_in(const char *rows, int32_t jobs, double timeout_s)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strconcat(HEADER, rows, NULL);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    CU_ASSERT_EQUAL(table->kind, RH_CASE_SERVING);
    RhCasesOptions options = {.jobs = jobs, .timeout_s = timeout_s};
    RhEvaluation *evaluation = rh_served_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(evaluation);
    return evaluation;
}

static RhEvaluation *judge(const char *rows)
{
    return judge_in(rows, 1, 0);
}

static const RhEvaluatedRun *at(const RhEvaluation *evaluation, guint i)
{
    CU_ASSERT_TRUE_FATAL(i < evaluation->rows->len);
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

/* More clients do not shorten the time of a token: where they do by more than repeated runs differ,
 * 1.15 times, no row of the set-up is said. Of two pools nobody knows whether they had as many workers.
 * Source: aiconfigurator 095f58a, silicon sample, Qwen3-32B on GB200 (41.9 and 27.6 ms). */
static void contradictions_are_left_out(void)
{
#define GB200(clients, ttft, tpot)                                                                 \
    SILICON ",Qwen/Qwen3-32B,gb200,0,2,1,0,0,,2000,500," clients ",,," ttft "," tpot               \
            ",agg; trtllm 1.3.0rc1; moe_tp=0,x\n"
    g_autoptr(RhEvaluation) j = judge(GB200("1", "102.7", "8.07") GB200("2", "225.7", "41.92")
                                          GB200("8", "533.9", "27.64"));
    CU_ASSERT_EQUAL(j->rows->len, 6);
    for (guint i = 0; i < j->rows->len; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(at(j, i)->skipped, "41.9 ms with 2 clients and 27.6 with 8"));
    g_autoptr(RhEvaluation) near = judge(GB200("2", "225.7", "30.1") GB200("8", "533.9", "27.64"));
    CU_ASSERT_EQUAL(near->rows->len, 4);
    CU_ASSERT_PTR_NULL(at(near, 0)->skipped);
    g_autoptr(RhEvaluation) far = judge(GB200("2", "225.7", "32.0") GB200("8", "533.9", "27.64"));
    CU_ASSERT_PTR_NOT_NULL(at(far, 0)->skipped);
#undef GB200
}

/* A queued run of TensorRT-LLM's overview has the limits that trtllm-bench sets, and the cache that the
 * page gives. Source: NVIDIA/TensorRT-LLM, perf-overview.md (13,858 tokens/s) and bench/build/tuning.py. */
static void overviews_have_the_limits_of_the_bench(void)
{
    g_autoptr(RhEvaluation) j =
        judge("\"TensorRT-LLM perf-overview (PyTorch backend, 2025-11 to 2026)\",gpt-oss-20b,"
              "h200_sxm,1,1,1,,,fp4,1000,1000,inf,,13858,,,agg; trtllm 1.2,x\n");
    CU_ASSERT_EQUAL_FATAL(j->rows->len, 1);
    CU_ASSERT_PTR_NULL_FATAL(at(j, 0)->skipped);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->strategy,
                           "server=trtllm-1.2,tp1,batch=1280,chunk=2560,memory=95");
    RH_CHECK_CLOSE(at(j, 0)->predicted_s, at(j, 0)->measured_s, 0.25);
}

/* A row is a case for each figure; predictions are near what was measured (InferenceX, facts).
 * Source: InferenceX's rows of these two runs. */
static void figures_are_cases(void)
{
    g_autoptr(RhEvaluation) j =
        judge(SILICON ",meta-llama/Llama-3.1-70B,h200_sxm,4,4,1,1,1,fp8,1024,1024,8,,,101.0966,"
                      "10.1356,agg; vllm ; moe_tp=4,x\n" SILICON
                      ",meta-llama/Llama-3.1-70B,h200_sxm,4,4,1,1,1,fp8,8192,1024,64,,,1817.4738,"
                      "46.1112,agg; vllm ; moe_tp=4,x\n");
    CU_ASSERT_EQUAL(j->rows->len, 4);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->metric, "ttft");
    CU_ASSERT_STRING_EQUAL(at(j, 1)->metric, "tpot");
    for (guint i = 0; i < j->rows->len; i++) {
        CU_ASSERT_PTR_NULL(at(j, i)->skipped);
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.25);
    }
    CU_ASSERT_STRING_EQUAL(at(j, 0)->strategy,
                           "server=vllm-0.10,tp4,batch=8,chunk=8192,kv=fp8,prefix=off");
    CU_ASSERT_STRING_EQUAL(at(j, 1)->group, "tpot dense 71B hopper");
}

/* "chunk=prompt+1000": a prompt, a token of each request at once, and so many more. */
static void budgets_follow_prompts(void)
{
    g_autoptr(RhEvaluation) j =
        judge(SILICON ",Qwen/Qwen3-32B,h100_sxm,2,2,1,1,,fp8,1024,128,32,,,217.9,22.7,"
                      "agg; trtllm 1.0.0rc3; moe_tp=1,x\n");
    CU_ASSERT_STRING_EQUAL(at(j, 0)->strategy, "server=trtllm-1.0,tp2,chunk=2056,kv=fp8");
    for (guint i = 0; i < j->rows->len; i++)
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.25);
}

/* Tables that write tp x ep for tp: the recipe's degrees go over the columns. A limit is the number of
 * clients at once where a rule says so. */
static void labels_are_undone(void)
{
    g_autoptr(RhEvaluation) j =
        judge(SILICON ",deepseek-ai/DeepSeek-V3,h200_sxm,64,64,1,8,1,fp8,1024,1024,16,,,267.6,"
                      "12.6,agg; trtllm 1.1.0rc2.post2; moe_tp=8,x\n" SILICON
                      ",meta-llama/Llama-3.1-70B,h200_sxm,4,4,1,1,1,fp8,1024,1024,64,,,300,20.1,"
                      "agg; vllm ; moe_tp=4,x\n");
    CU_ASSERT_EQUAL_FATAL(j->rows->len, 4);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->strategy, "server=trtllm-stream10,tp8,ep8,chunk=1104,kv=fp8,"
                                               "memory=75,prefix=off,balance=60");
    CU_ASSERT_STRING_EQUAL(at(j, 2)->strategy,
                           "server=vllm-0.10,tp4,batch=64,chunk=8192,kv=fp8,prefix=off");
    for (guint i = 0; i < j->rows->len; i++)
        CU_ASSERT_PTR_NULL(at(j, i)->skipped);
}

/* "P=1w tp1 ... adp16": so many workers of each pool, and how each is cut. */
static void pools_are_told_by_the_note(void)
{
    g_autoptr(RhEvaluation) j = judge(
        SILICON ",deepseek-ai/DeepSeek-V3,h100_sxm,64,,,,,fp8,8192,1024,7,,,13693.2581,14.6579,"
                "DISAGG trtllm 0.8.1.post3; P=1w tp1 pp1 adp16 moetp1 ep16 bs1; D=3w tp16 pp1 adp1 "
                "moetp1 ep16 bs2,x\n");
    CU_ASSERT_EQUAL(j->rows->len, 2);
    CU_ASSERT_STRING_EQUAL(at(j, 1)->strategy,
                           "server=trtllm-dynamo,tp1,ep16,dp16,kv=fp8/tp16,ep16,replicas=3,kv=fp8");
}

/* Pools come from the recipe for so many clients, if it is the only one, where the note does not
 * give workers: a row of H200 and one of H100, to which nothing was fitted. */
static void pools_are_told_by_recipes(void)
{
    g_autoptr(RhEvaluation) j = judge(
        SILICON ",deepseek-ai/DeepSeek-R1,h200_sxm,16,,,,,fp8,1024,1024,36,,,622.8887,13.3824,"
                "DISAGG trtllm 0.8.1.post1; P=w tp8 pp1 adp1 moetp1 ep8 bs; D=w tp8 pp1 adp1 "
                "moetp1 ep8 bs,x\n" SILICON
                ",deepseek-ai/DeepSeek-V3,h100_sxm,64,,,,,fp8,8192,1024,6,,,13693.2581,14.6579,"
                "DISAGG trtllm 0.8.1.post3; P=1w tp1 pp1 adp16 moetp1 ep16 bs1; D=3w tp16 pp1 adp1 "
                "moetp1 ep16 bs2,x\n");
    CU_ASSERT_EQUAL(j->rows->len, 4);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->group, "ttft two pools hopper");
    CU_ASSERT_STRING_EQUAL(at(j, 1)->strategy,
                           "server=trtllm-dynamo,tp1,ep8,dp8,batch=8,chunk=8192,kv=fp8,memory=60,"
                           "prefix=off/tp8,ep8,replicas=9,batch=256,kv=fp8,memory=90,prefix=off");
    for (guint i = 0; i < j->rows->len; i++)
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.12);
}

/* Static batches of 2023 and 2024: all of one there when it begins, on H100s of which some had half their power; to every
 * second row of the first table constants were fitted, to those of the second nothing was.
 * Source: splitwise-sim's perf_model.csv; TensorRT-LLM v0.9, performance overview. */
static void static_batches_begin_whole(void)
{
    g_autoptr(RhEvaluation) j = judge(
        "splitwise-sim perf_model.csv,llama2-70b,h100-80gb,4,4,1,,,FP16,512,128,8,,,442.2,31.4,"
        "static batch,x\n"
        "splitwise-sim perf_model.csv,llama2-70b,h100-80gb-pcap,4,4,1,,,FP16,512,128,8,,,574.9,"
        "31.4,static batch,x\n"
        "TensorRT-LLM v0.9 perf-overview,LLaMA-7B,H100,1,1,1,,,FP8,2048,128,84,,2163.0,,,STATIC "
        "batch,x\n");
    CU_ASSERT_EQUAL_FATAL(j->rows->len, 5);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->strategy,
                           "server=vllm-0.2,tp4,batch=1024,chunk=2048,window=1");
    CU_ASSERT_STRING_EQUAL(at(j, 4)->strategy,
                           "server=trtllm-0.9,tp1,batch=1024,chunk=2048,kv=fp8,window=1");
    for (guint i = 0; i < j->rows->len; i++)
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.2);
    CU_ASSERT_TRUE(at(j, 2)->predicted_s > 1.1 * at(j, 0)->predicted_s);
    RH_CHECK_CLOSE(at(j, 3)->predicted_s, at(j, 1)->predicted_s, 1e-9);
}

static void check_skipped(const char *row, const char *why)
{
    g_autoptr(RhEvaluation) j = judge(row);
    const RhEvaluatedRun *last = at(j, j->rows->len - 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(last->skipped);
    if (!strstr(last->skipped, why))
        printf("\n%s\n", last->skipped);
    CU_ASSERT_PTR_NOT_NULL(strstr(last->skipped, why));
}

/* Rows that cannot be translated are left out with the reason. */
static void reasons_are_told(void)
{
#define ROW(gpu, tp, isl, at_once, precision, note)                                                \
    SILICON ",meta-llama/Llama-3.1-70B," gpu "," tp "," tp ",1,1,1," precision "," isl             \
            ",1024," at_once ",,,101.1,10.1," note ",x\n"
    check_skipped(ROW("h200_sxm", "4", "1024", "8", "fp8", "DISAGG trtllm; P=1w"),
                  "how many workers");
    check_skipped(ROW("h900", "4", "1024", "8", "fp8", "agg; vllm"), "gpu h900");
    check_skipped(ROW("h200_sxm", "", "1024", "8", "fp8", "agg; vllm"), "tp is not given");
    check_skipped(SILICON ",meta-llama/Llama-3.1-70B,h200_sxm,8,2,2,1,1,fp8,1024,1024,8,,,101.1,"
                          "10.1,agg; vllm,x\n",
                  "tp2 x pp2 x dp1 = 4 ranks, not 8 GPUs");
    check_skipped(ROW("h200_sxm", "4", "sharegpt", "8", "fp8", "agg; vllm"), "isl \"sharegpt\"");
    check_skipped(ROW("h200_sxm", "4", "1024", "inf", "fp8", "agg; vllm"), "batch_or_concurrency");
    check_skipped(ROW("h200_sxm", "4", "1024", "8", "int3", "agg; vllm"), "precision int3");
    check_skipped(ROW("h200_sxm", "4", "1024", "8", "fp8", "agg; lmdeploy"), "no server is known");
    check_skipped(ROW("h200_sxm", "3", "1024", "8", "fp8", "agg; vllm"), "tp3 does not divide");
    check_skipped(ROW("mi325x", "4", "1024", "8", "fp8", "agg; trtllm"),
                  "no table of kernels for mi325x and trtllm");
    check_skipped(ROW("mi300x", "4", "1024", "8", "fp8", "agg; vllm"),
                  "no table of kernels for mi300x and vllm");
    check_skipped(ROW("h100_sxm", "1", "1024", "8", "bf16", "agg; vllm"), "leaves no room");
    check_skipped(
        SILICON
        ",Qwen/Qwen3-32B,h200_sxm,2,2,1,1,1,fp8,15000,500,416,,,719.2757,13.6562,agg; vllm,x\n",
        "multiply at most");
    check_skipped(ROW("h200_sxm", "8", "1024", "8", "fp8", "agg; vllm")
                      ROW("h200_sxm", "4", "1024", "8", "fp8", "agg; vllm")
                          ROW("h200_sxm", "16", "1024", "8", "fp8", "agg; vllm"),
                  "its figures are those of line 3");
#undef ROW
}

/* Cache sizes that servers print are those of a service: logs of one vLLM to 2.5 % whatever model,
 * format and ranks; none is off by more than a sixth. Source: logs of servers,
 * validate/data/published-caches.csv has each one's address. */
static void caches_are_as_printed(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_load("published-caches", &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    CU_ASSERT_EQUAL(table->kind, RH_CASE_CACHES);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_kv_cache_sizes_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    int32_t evaluation = 0, newest = 0;
    for (guint i = 0; i < j->rows->len; i++) {
        const RhEvaluatedRun *r = at(j, i);
        bool of_newest =
            strcmp(r->table, "vllm 0.19.0") == 0 && strcmp(r->device, "H100-80GB") == 0;
        if (r->skipped)
            continue;
        evaluation++;
        newest += of_newest;
        RH_CHECK_CLOSE(r->predicted_s, r->measured_s, of_newest ? 0.025 : 0.17);
    }
    CU_ASSERT_TRUE(evaluation >= 35);
    CU_ASSERT_TRUE(newest >= 25);
}

static void caches_need_a_size(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table =
        rh_case_table_parse("t.csv",
                            "source,model,gpu,tp,precision,kv_tokens,note\n"
                            "llm-d-planner,Qwen/Qwen3-8B,H100-80GB,1,bf16,,vllm 0.19.0\n",
                            &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_kv_cache_sizes_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    CU_ASSERT_STRING_EQUAL(at(j, 0)->skipped, "no size of a cache is given");
}

/* Rows of which no rule says the limits: vLLM's own on such a GPU, or those of the note. Logits of
 * fewer sequences leave room for more tokens.
 * Source: vllm-project/vllm issue 21348; casys-kaist/LLMServingSim pull 59. */
static void unsaid_limits_are_the_engines(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse(
        "t.csv",
        "source,model,gpu,gpus,tp,precision,kv_tokens,note\n"
        "thread,Qwen/Qwen3-235B-A22B-FP8,H100-80GB,4,4,fp8,178880,vllm 0.9.2\n"
        "thread,Qwen/Qwen3-235B-A22B-FP8,H100-80GB,4,4,fp8,178880,vllm 0.9.2; max_num_seqs=256\n"
        "thread,meta-llama/Llama-3.1-8B,RTX4090,1,1,bf16,41408,vllm 0.19.0\n",
        &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_kv_cache_sizes_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    RH_CHECK_CLOSE(at(j, 0)->predicted_s, 178880, 0.17);
    CU_ASSERT_TRUE(at(j, 1)->predicted_s > 1.3 * at(j, 0)->predicted_s);
    RH_CHECK_CLOSE(at(j, 2)->predicted_s, 41408, 0.09);
}

/* Rows of DeepEP's README, which nothing was fitted to: a time, and a rate that counts what stays in the node.
 * Source: deepseek-ai/DeepEP, README. */
static void exchanges_are_as_published(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse(
        "t.csv",
        "library,mode,op,gpu,ep,tokens_per_gpu,hidden,topk,experts,dtype,latency_us,bandwidth_GBps,"
        "bandwidth_kind,note\n"
        "DeepEP V1,low-latency pure RDMA,combine,H800,16,128,7168,8,256,BF16,195,,,\n"
        "DeepEP V1,normal (NVLink+RDMA forwarding),dispatch,H800,64,4096,7168,8,256,FP8,,51,RDMA,"
        "top-4 groups\n"
        "DeepEP V2,unified,dispatch,SM90,32,8192,7168,8,,FP8,,61,RDMA logical,\n"
        "MoriEP,normal,dispatch,H800,64,4096,7168,8,256,FP8,99,,,\n"
        "DeepEP V1,normal,dispatch,H800,64,4096,7168,8,256,FP8,,,,\n",
        &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    CU_ASSERT_EQUAL(table->kind, RH_CASE_EXCHANGES);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_exchanges_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    for (guint i = 0; i < 3; i++) {
        CU_ASSERT_PTR_NULL(at(j, i)->skipped);
        CU_ASSERT_FALSE(at(j, i)->fitted);
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.06);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(at(j, 3)->skipped, "no kernels are known"));
    CU_ASSERT_STRING_EQUAL(at(j, 4)->skipped, "nothing was measured");
}

/* Microseconds of the low-latency kernels from 16 to 256 ranks: constants of the way there were fitted to these, of the
 * way back to nothing here.
 * Source: deepseek-ai/DeepEP, README, performance of low-latency kernels with pure RDMA. */
static void low_latency_exchanges_are_as_published(void)
{
    static const struct {
        int32_t ranks;
        double dispatch_us, combine_us;
    } rows[] = {{16, 118, 195}, {32, 155, 273}, {64, 173, 314}, {128, 192, 369}, {256, 194, 360}};
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text =
        g_string_new("library,mode,op,gpu,ep,tokens_per_gpu,hidden,topk,experts,dtype,"
                     "latency_us,bandwidth_GBps,bandwidth_kind,note\n");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_string_append_printf(
            text,
            "DeepEP V1,low-latency pure RDMA,dispatch,H800,%d,128,7168,8,256,FP8,%g,,,\n"
            "DeepEP V1,low-latency pure RDMA,combine,H800,%d,128,7168,8,256,BF16,%g,,,\n",
            rows[i].ranks, rows[i].dispatch_us, rows[i].ranks, rows[i].combine_us);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text->str, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    RhCasesOptions options = {.jobs = 1};
    g_autoptr(RhEvaluation) j = rh_exchanges_judge(table, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    for (guint i = 0; i < j->rows->len; i++) {
        CU_ASSERT_PTR_NULL(at(j, i)->skipped);
        CU_ASSERT_EQUAL(at(j, i)->fitted, i % 2 == 0);
        RH_CHECK_CLOSE(at(j, i)->predicted_s, at(j, i)->measured_s, 0.15);
    }
}

/* More rows than one child takes, one among them that does not fit: whoever predicts them, their answers are theirs. */
static void children_change_nothing(void)
{
    g_autoptr(GString) rows = g_string_new(NULL);
    for (int i = 0; i < 40; i++)
        g_string_append_printf(
            rows,
            SILICON
            ",meta-llama/Llama-3.1-70B,h200_sxm,%d,%d,1,1,1,%s,128,32,4,,,%d,%d,agg; vllm ; "
            "moe_tp=4,x\n",
            i == 20 ? 1 : 4, i == 20 ? 1 : 4, i == 20 ? "bf16" : "fp8", 100 + i, 10 + i);
    g_autoptr(RhEvaluation) one = judge_in(rows->str, 1, 0);
    g_autoptr(RhEvaluation) three = judge_in(rows->str, 3, 0);
    CU_ASSERT_EQUAL(one->rows->len, 80);
    CU_ASSERT_EQUAL_FATAL(three->rows->len, one->rows->len);
    for (guint i = 0; i < one->rows->len; i++) {
        CU_ASSERT_EQUAL(at(one, i)->predicted_s, at(three, i)->predicted_s);
        CU_ASSERT_STRING_EQUAL(at(one, i)->id, at(three, i)->id);
        CU_ASSERT_EQUAL(at(three, i)->skipped != NULL, i / 2 == 20);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(at(three, 40)->skipped, "no room"));
    g_autoptr(RhEvaluation) late = judge_in(rows->str, 2, 1e-6);
    CU_ASSERT_TRUE(rh_evaluation_late(at(late, 79)));
}

/* DeepSeek-V3 can predict several tokens at a time: where no source says whether it does, a row asks for
 * both answers. */
static void what_is_unknown_is_told(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strconcat(
        HEADER,
        "a blog,deepseek-ai/DeepSeek-V3,h200_sxm,8,8,1,1,1,fp8,1024,1024,16,,,,12.6,agg; sglang "
        "0.5.9,x\n" SILICON ",deepseek-ai/DeepSeek-V3,h200_sxm,8,8,1,1,1,fp8,1024,1024,16,,,267.6,"
        "12.6,agg; sglang 0.5.9; moe_tp=8,x\n",
        NULL);
    g_autoptr(RhCaseTable) table = rh_case_table_parse("t.csv", text, &error);
    g_autoptr(RhServedTranslator) t = rh_served_translator_new(&error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (guint i = 0; i < table->rows->len; i++) {
        RhServedCase c;
        g_autofree char *why =
            rh_served_translate(t, &g_array_index(table->rows, RhCaseRow, i), &c);
        CU_ASSERT_PTR_NULL(why);
        CU_ASSERT_EQUAL(c.both, i == 0);
        CU_ASSERT_EQUAL(c.speculation_known, i == 1);
        CU_ASSERT_EQUAL(c.version_known, i == 1); /* a blog's; a table's whose rules name servers */
        CU_ASSERT_EQUAL(c.deployment.pools[0].draft, 0);
        CU_ASSERT_TRUE(!c.both || c.guessing.pools[0].draft == 3);
        rh_served_case_clear(&c);
    }
}

static const RhTest tests[] = {
    {"what is unknown is told", what_is_unknown_is_told},
    {"children change nothing", children_change_nothing},
    {"contradictions are left out", contradictions_are_left_out},
    {"figures are cases", figures_are_cases},
    {"overviews have the limits of the bench", overviews_have_the_limits_of_the_bench},
    {"budgets follow prompts", budgets_follow_prompts},
    {"labels are undone", labels_are_undone},
    {"pools are told by the note", pools_are_told_by_the_note},
    {"pools are told by recipes", pools_are_told_by_recipes},
    {"static batches begin whole", static_batches_begin_whole},
    {"caches are as printed", caches_are_as_printed},
    {"exchanges are as published", exchanges_are_as_published},
    {"low latency exchanges are as published", low_latency_exchanges_are_as_published},
    {"caches need a size", caches_need_a_size},
    {"unsaid limits are the engine's", unsaid_limits_are_the_engines},
    {"reasons are told", reasons_are_told},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("served", tests);
}
