/* Kernels that send tokens to experts: published tables are read, and what was put into times is found in them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/a2a_backend.h"
#include "tests/kit/testkit.h"
#include "validate/serving/a2a_fit.h"
#include "validate/serving/a2a_published.h"

#define COMMON                                                                                     \
    "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,"      \
    "num_experts,"
#define FEW                                                                                        \
    COMMON "combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps\n"
#define MANY                                                                                       \
    COMMON "dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us," \
           "combine_notify_us\n"

static RhCaseTable *parsed(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhCaseTable *table = rh_case_table_parse("t.csv", text, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return table;
}

/* A line is a way there, in a byte and its scale, and a way back, in two; both wait for what is told before. */
static void lines_are_two_ways(void)
{
    g_autoptr(RhCaseTable) table = parsed(
        MANY "sglang,0.5.12,NVIDIA H200,normal,deepep,2,7168,4096,8,256,20,800,40,24,1900.5,50\n");
    CU_ASSERT_EQUAL(table->kind, RH_CASE_EXCHANGES);
    CU_ASSERT_EQUAL_FATAL(table->rows->len, 2);
    const RhCaseRow *there = &g_array_index(table->rows, RhCaseRow, 0),
                    *back = &g_array_index(table->rows, RhCaseRow, 1);
    CU_ASSERT_STRING_EQUAL(there->text[RH_CASE_OP], "dispatch");
    CU_ASSERT_STRING_EQUAL(back->text[RH_CASE_OP], "combine");
    CU_ASSERT_STRING_EQUAL(there->text[RH_CASE_DTYPE], "FP8");
    CU_ASSERT_STRING_EQUAL(back->text[RH_CASE_DTYPE], "BF16");
    CU_ASSERT_STRING_EQUAL(back->text[RH_CASE_SOURCE], "sglang 0.5.12");
    CU_ASSERT_EQUAL(there->whole[RH_CASE_EP], 16);
    CU_ASSERT_EQUAL(there->whole[RH_CASE_SMS], 20);
    CU_ASSERT_EQUAL(back->whole[RH_CASE_SMS], 24);
    CU_ASSERT_EQUAL(there->whole[RH_CASE_TOKENS], 4096);
    RH_CHECK_CLOSE(there->exchange_s, 840e-6, 1e-12);
    RH_CHECK_CLOSE(back->exchange_s, 1950.5e-6, 1e-12);
}

static void wrong_lines_are_told(void)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_case_table_parse(
        "t.csv", FEW "sglang,1,NVIDIA H100,ll,deepep,1,7168,many,8,256,12,1,16,1\n", &error));
    CU_ASSERT_TRUE(error && g_error_matches(error, RH_ERROR, RH_ERROR_INPUT) &&
                   strstr(error->message, "t.csv:2:39: num_token \"many\""));
}

/* Few experts on the low-latency kernels, and eight nodes of one benchmark, are left out with the reason. */
static void what_no_model_has_is_left_out(void)
{
    g_autoptr(RhCaseTable) few =
        parsed(FEW "sglang,1,NVIDIA H100,ll,deepep,1,4096,1024,2,8,100,1,300,1\n");
    g_autoptr(RhCaseTable) many = parsed(
        MANY "sglang,1,NVIDIA H100,normal,deepep,8,7168,4096,8,256,20,5516,994,20,4461,8048\n");
    RhCaseTable *tables[] = {few, many};
    for (int i = 0; i < 2; i++) {
        RhCasesOptions options = {.jobs = 1};
        g_autoptr(RhEvaluation) evaluation = rh_exchanges_judge(tables[i], &options, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(evaluation);
        for (guint k = 0; k < evaluation->rows->len; k++)
            CU_ASSERT_PTR_NOT_NULL(g_array_index(evaluation->rows, RhEvaluatedRun, k).skipped);
    }
}

/* --- the fit --- */

/* Kernels as they might be, unlike those of the tree. */
static RhA2aBackendPart truth_of(bool combine)
{
    RhA2aBackendPart part = {0};
    part.base_s.value = combine ? 50e-6 : 20e-6;
    part.inter_s.value = 9e-6;
    part.node_s.value = 14e-6;
    part.nic_frac.value = combine ? 0.8 : 0.9;
    part.peer_frac.value = 0.55;
    part.sm_bytes_per_s.value = combine ? 25e9 : 14e9;
    part.sm_inter_bytes_per_s.value = 11e9;
    part.own_count.value = combine ? 3 : 1.5;
    return part;
}

static double time_us(const RhPlatform *p, const RhA2aLoad *load, bool combine)
{
    const RhA2aBackend *x = rh_a2a_backend_by_name("deepep", NULL);
    RhA2aBackendPart part = truth_of(combine);
    return 1e6 * rh_a2a_backend_s(x, &part, p, load);
}

static RhCaseTable *table_of_truth(void)
{
    static const int32_t nodes[] = {1, 2, 4}, sms[] = {8, 16, 24}, chosen[] = {2, 8};
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:1", NULL);
    g_autoptr(GString) text = g_string_new(MANY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (size_t n = 0; n < G_N_ELEMENTS(nodes); n++)
        for (size_t s = 0; s < G_N_ELEMENTS(sms); s++)
            for (size_t k = 0; k < G_N_ELEMENTS(chosen); k++)
                for (int32_t tokens = 1; tokens <= 1 << 16; tokens *= 4) {
                    RhA2aLoad load = {
                        nodes[n] * 8,
                        tokens,
                        7168 * (1 + 4.0 / 128),
                        sms[s],
                        {.experts = 256, .chosen = chosen[k], .groups = 1, .groups_chosen = 1}};
                    double there = time_us(p, &load, false);
                    load.token_bytes = 7168 * 2;
                    double back = time_us(p, &load, true);
                    g_string_append_printf(
                        text,
                        "x,1,NVIDIA H100,normal,deepep,%d,7168,%d,%d,256,%d,%.9f,0,%d,%.9f,0\n",
                        nodes[n], tokens, chosen[k], sms[s], there, sms[s], back);
                }
    return parsed(text->str);
}

static void check_fact(const RhExchangeFit *fit, const char *key, double truth)
{
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        if (strcmp(f->key, key) != 0)
            continue;
        RH_CHECK_CLOSE(f->fact.value, truth, 0.02);
        CU_ASSERT_TRUE(f->fact.low <= f->fact.value && f->fact.value <= f->fact.high);
        return;
    }
    CU_FAIL("a constant was not fitted");
}

static void constants_are_found(void)
{
    g_autoptr(RhCaseTable) table = table_of_truth();
    g_autoptr(GPtrArray) tables = g_ptr_array_new();
    g_ptr_array_add(tables, table);
    RhExchangesFitOptions options = {.holdout_frac = 0.2, .source = "t.csv"};
    int32_t skipped = -1;
    g_autoptr(GArray) fits = rh_exchanges_fit(tables, &options, &skipped, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
    CU_ASSERT_EQUAL(skipped, 0);
    CU_ASSERT_EQUAL_FATAL(fits->len, 2);
    for (guint i = 0; i < fits->len; i++) {
        const RhExchangeFit *fit = &g_array_index(fits, RhExchangeFit, i);
        RhA2aBackendPart truth = truth_of(fit->combine);
        CU_ASSERT_PTR_NULL(fit->lack);
        CU_ASSERT_STRING_EQUAL(fit->backend, "deepep");
        check_fact(fit, "base", truth.base_s.value);
        check_fact(fit, "node", truth.node_s.value);
        check_fact(fit, "nic", truth.nic_frac.value);
        check_fact(fit, "sm", truth.sm_bytes_per_s.value);
        check_fact(fit, "sm_inter", truth.sm_inter_bytes_per_s.value);
        check_fact(fit, "own", truth.own_count.value);
        CU_ASSERT_TRUE(fit->then[1].count > 0 && fit->then[1].mean_frac < 0.01);
        CU_ASSERT_TRUE(fit->now[1].mean_frac > 0.05);
    }
}

/* Two sizes tell no five constants, and that is said. */
static void too_few_rows_are_told(void)
{
    g_autoptr(RhCaseTable) table =
        parsed(FEW "x,1,NVIDIA H100,ll,deepep,1,7168,1,8,256,12,1,16,1\n"
                   "x,1,NVIDIA H100,ll,deepep,1,7168,64,8,256,40,1,25,1\n");
    g_autoptr(GPtrArray) tables = g_ptr_array_new();
    g_ptr_array_add(tables, table);
    RhExchangesFitOptions options = {.source = "t.csv"};
    int32_t skipped = 0;
    g_autoptr(GArray) fits = rh_exchanges_fit(tables, &options, &skipped, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
    CU_ASSERT_EQUAL(fits->len, 2);
    for (guint i = 0; i < fits->len; i++)
        CU_ASSERT_STRING_EQUAL(g_array_index(fits, RhExchangeFit, i).lack,
                               "2 sizes are too few to tell 2 constants");
}

/* SMs are the limit where links have room for more: half of them take twice as long. */
static void sms_are_a_limit(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-b200:1", NULL);
    const RhA2aBackend *x = rh_a2a_backend_by_name("deepep", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    RhA2aLoad load = {8, 1 << 16, 7392, 10, {256, 8, 1, 1, 0, 0}};
    double base_s = x->dispatch.base_s.value, ten_s = rh_a2a_backend_s(x, &x->dispatch, p, &load);
    double copies = rh_a2a_copies(&load, 8) + x->dispatch.own_count.value;
    RH_CHECK_CLOSE(ten_s,
                   base_s + load.tokens * 7392 * copies / (10 * x->dispatch.sm_bytes_per_s.value),
                   1e-9);
    load.sms_count = 0; /* those that DeepEP takes */
    RH_CHECK_CLOSE(rh_a2a_backend_s(x, &x->dispatch, p, &load) - base_s, (ten_s - base_s) / 2,
                   1e-9);
}

static const RhTest tests[] = {
    {"lines are two ways", lines_are_two_ways},
    {"wrong lines are told", wrong_lines_are_told},
    {"what no model has is left out", what_no_model_has_is_left_out},
    {"constants are found", constants_are_found},
    {"too few rows are told", too_few_rows_are_told},
    {"SMs are a limit", sms_are_a_limit},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("a2a_fit", tests);
}
