/* Memory of training beside what papers and manuals print of it. */
#include <math.h>

#include "strategies/train/memory/memory.h"
#include "strategies/train/pipeline_schedule_properties.h"
#include "tests/kit/train_kit.h"

/* Bytes a parameter that a rank holds of weights, gradients and states, with dp ranks. */
static double state_bytes(const char *stack, int32_t dp, int zero, int32_t gradient_bytes)
{
    g_autofree char *platform =
        g_strdup_printf("h100-sxm:%dx%d,ib:400Gb/s", MIN(dp, 8), MAX(1, dp / 8));
    g_auto(TrainKit) k = train_kit("gpt-7.5b", platform, stack, dp, 2048);
    train_kit_runs_all(&k);
    k.c.job.gradient_bytes = gradient_bytes;
    g_autofree char *text = g_strdup_printf("tp1,dp%d,zero%d", dp, zero);
    RhLayout l = train_layout(&k, text);
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
    RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
    return (s.fixed_bytes[RH_MEMORY_WEIGHTS] + s.fixed_bytes[RH_MEMORY_GRADIENTS] +
            s.fixed_bytes[RH_MEMORY_OPTIMIZER]) /
           rh_param_counts_sum(&s.params);
}

/* Gradients in two bytes, twelve of optimizer states, 7.5 billion parameters, 64 ranks: GB of each degree.
 * Source: Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1. */
static void states_are_the_gigabytes_of_zeros_figure(void)
{
    static const double gb[] = {120, 31.4, 16.6, 1.9};
    for (int zero = 0; zero <= 3; zero++)
        CU_ASSERT_DOUBLE_EQUAL(7.5 * state_bytes("bare", 64, zero, 2), gb[zero], 0.06);
}

/* GB a rank of 7.5, 128 and 1,000 billion parameters: rows are 1 to 1,024 ranks, columns the degrees. The paper cuts
 * decimals off.
 * Source: Rajbhandari et al. 2020 (arXiv 1910.02054), table 1. */
static void states_are_the_gigabytes_of_zeros_table(void)
{
    static const struct {
        int32_t dp;
        double small[3], medium[3], large[3];
    } rows[] = {{1, {120, 120, 120}, {2048, 2048, 2048}, {16000, 16000, 16000}},
                {4, {52.5, 41.3, 30}, {896, 704, 512}, {7000, 5500, 4000}},
                {16, {35.6, 21.6, 7.5}, {608, 368, 128}, {4750, 2875, 1000}},
                {64, {31.4, 16.6, 1.88}, {536, 284, 32}, {4187, 2218, 250}},
                {256, {30.4, 15.4, 0.47}, {518, 263, 8}, {4046, 2054, 62.5}},
                {1024, {30.1, 15.1, 0.12}, {513, 257, 2}, {4011, 2013, 15.6}}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (int zero = 1; zero <= 3; zero++) {
            double bytes = state_bytes("bare", rows[i].dp, zero, 2);
            RH_CHECK_CLOSE(7.5 * bytes, rows[i].small[zero - 1], 0.03);
            RH_CHECK_CLOSE(128 * bytes, rows[i].medium[zero - 1], 0.004);
            RH_CHECK_CLOSE(1000 * bytes, rows[i].large[zero - 1], 0.004);
        }
}

/* Weights in bf16 and gradients in fp32: 18 bytes a parameter without and 6 + 12 / d with the distributed optimizer.
 * Ours holds besides, as the manual does not say, a dummy gradient in bf16 of each shape of a layer's matrices.
 * Source: NVIDIA/Megatron-LM, docs/source/api-guide/dist_optimizer.md, table of theoretical memory. */
static void states_are_those_of_megatrons_manual(void)
{
    const double dummy = 2 * 12.0 * 4096 * 4096 / 7.466e9;
    CU_ASSERT_DOUBLE_EQUAL(state_bytes("megatron", 8, 0, 0) - dummy, 18, 1e-3);
    for (int32_t d = 2; d <= 32; d *= 4)
        CU_ASSERT_DOUBLE_EQUAL(state_bytes("megatron", d, 1, 0) - dummy, 6 + 12.0 / d, 1e-3);
}

/* Most chunks' micro-batches that a stage keeps. */
static int32_t kept_most(RhPipelineKind kind, int32_t p, int32_t v, int32_t m)
{
    g_autoptr(RhPipelineProfile) shape =
        rh_pipeline_profile_new(rh_pipeline_schedule(kind), p, v, m, false);
    int32_t most = 0;
    for (guint f = 0, begin = 0, sum = 0; f < shape->runs->len; f++) {
        RhInFlightRun run = g_array_index(shape->runs, RhInFlightRun, f);
        sum += ((guint)run.end - begin) * (guint)run.kept;
        most = MAX(most, (int32_t)sum);
        begin = run.end == v ? 0 : (guint)run.end;
        sum = run.end == v ? 0 : sum;
    }
    return most;
}

/* GPipe keeps all m micro-batches, 1F1B no more than there are stages.
 * Source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2.1. */
static void one_forward_one_backward_keeps_as_many_as_stages(void)
{
    for (int32_t p = 2; p <= 16; p *= 2)
        for (int32_t m = p; m <= 4 * p; m += p) {
            CU_ASSERT_EQUAL(kept_most(RH_PIPELINE_GPIPE, p, 1, m), m);
            CU_ASSERT_EQUAL(kept_most(RH_PIPELINE_1F1B, p, 1, m), p);
        }
}

/* The first stage of an interleaved pipeline keeps 1 + (p - 1) / (p v) times what it would without.
 * Source: Korthikanti et al. 2022 (arXiv 2205.05198), section 4.2.3, where v is m. */
static void interleaving_keeps_as_much_more_as_korthikanti_says(void)
{
    for (int32_t p = 2; p <= 16; p *= 2)
        for (int32_t v = 2; v <= 8; v *= 2)
            RH_CHECK_CLOSE(kept_most(RH_PIPELINE_INTERLEAVED, p, v, 4 * p) / (double)(p * v),
                           1 + (p - 1.0) / (p * v), 1e-12);
}

int main(void)
{
    static const RhTest tests[] = {
        {"states_are_the_gigabytes_of_zeros_figure", states_are_the_gigabytes_of_zeros_figure},
        {"states_are_the_gigabytes_of_zeros_table", states_are_the_gigabytes_of_zeros_table},
        {"states_are_those_of_megatrons_manual", states_are_those_of_megatrons_manual},
        {"one_forward_one_backward_keeps_as_many_as_stages",
         one_forward_one_backward_keeps_as_many_as_stages},
        {"interleaving_keeps_as_much_more_as_korthikanti_says",
         interleaving_keeps_as_much_more_as_korthikanti_says},
        {0},
    };
    return rh_test_main("published_memory", tests);
}
