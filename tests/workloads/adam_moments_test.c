/* States of an optimizer per parameter, and the bytes it moves: formats of moments and
 * gradients. */
#include <math.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static const struct {
    const RhAdamMoments *moments; /* NULL: as nobody says */
    int32_t gradient_bytes;       /* 0: likewise */
    double gradient, state;       /* B of a parameter */
} formats[] = {{NULL, 0, 4, 12},
               {&rh_adam_moments_fp32, 4, 4, 12},
               {&rh_adam_moments_bf16, 0, 4, 8}, /* DeepSeek-V3 */
               {&rh_adam_moments_8bit, 0, 4, 4 + 2 + 8.0 / 2048},
               {&rh_adam_moments_bf16, 2, 2, 8},
               {NULL, 2, 2, 12}};

static void train_in(TrainKit *k, size_t format)
{
    k->c.job.moments = formats[format].moments;
    k->c.job.gradient_bytes = formats[format].gradient_bytes;
}

/* Rajbhandari et al. 2020, figure 1, with K as the format has it.
 * Source: Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1. */
static void states_are_the_formats(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++)
        for (int zero = 0; zero <= 3; zero++) {
            train_in(&k, f);
            g_autofree char *text = g_strdup_printf("tp1,dp8,zero%d", zero);
            RhLayout l = train_layout(&k, text);
            g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
            RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
            double params = rh_param_counts_sum(&s.params);
            RH_CHECK_CLOSE(s.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * params / (zero >= 3 ? 8 : 1),
                           1e-12);
            RH_CHECK_CLOSE(s.fixed_bytes[RH_MEMORY_GRADIENTS],
                           formats[f].gradient * params / (zero >= 2 ? 8 : 1), 1e-12);
            RH_CHECK_CLOSE(s.fixed_bytes[RH_MEMORY_OPTIMIZER],
                           formats[f].state * params / (zero >= 1 ? 8 : 1), 1e-12);
        }
}

/* Moments are read and written, a gradient is read: what is narrower is moved less. */
static void the_optimizer_moves_what_it_keeps(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero1");
    RhStates states = {.params = {{8e9, 0}}};
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++) {
        train_in(&k, f);
        RhKernel adam = rh_optimizer_kernel(&k.c, &l, &states);
        /* a master read and written, a weight written; bare counts no more of it than 28 */
        double moved = 8 + 2 * (formats[f].state - 4) + formats[f].gradient;
        RH_CHECK_CLOSE(adam.bytes, 1e9 * moved, 1e-12);
    }
}

static double lane_bytes(const RhProgram *p, RhLane lane)
{
    double sum = 0;
    for (guint i = 0; i < p->tasks->len; i++)
        if (rh_program_task(p, (int32_t)i)->lane == lane)
            sum += rh_program_task(p, (int32_t)i)->bytes;
    return sum;
}

static double kernel_bytes(const RhProgram *p, RhKernelClass cls)
{
    double sum = 0;
    for (guint i = 0; i < p->kernels->len; i++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, i);
        sum += kernel->cls == cls ? kernel->bytes : 0;
    }
    return sum;
}

/* Replicas reduce main gradients; gradients of weights are added to them, read and written. */
static void narrow_gradients_travel_and_are_summed_narrow(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 32, 2048);
    RhLayout l = train_layout(&k, "tp1,dp8,zero0");
    g_autoptr(RhProgram) wide = rh_train_build(&k.c, &l, NULL);
    k.c.job.gradient_bytes = 2;
    g_autoptr(RhProgram) narrow = rh_train_build(&k.c, &l, NULL);
    RH_CHECK_CLOSE(lane_bytes(narrow, RH_LANE_DP), lane_bytes(wide, RH_LANE_DP) / 2, 1e-12);
    /* bundles hold a layer's kernels once: all its matrices, and the head's */
    double h = 4096, layer = h * 4096 * 2 + 2 * h * 1024 + 3 * h * 14336, head = h * 128256;
    RH_CHECK_CLOSE(kernel_bytes(wide, RH_KERNEL_GEMM) - kernel_bytes(narrow, RH_KERNEL_GEMM),
                   4 * (layer + head), 1e-9);
}

/* Memory is the ledger's, and bounds hold, in all of them. */
static void formats_are_accounted_for(void)
{
    static const char *const layouts[] = {"tp2,pp2,dp4,zero1", "dp16,zero3", "pp4,dp4,zero0"};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 32, 1024);
    train_kit_runs_all(&k);
    for (size_t f = 0; f < G_N_ELEMENTS(formats); f++)
        for (size_t n = 0; n < G_N_ELEMENTS(layouts); n++) {
            train_in(&k, f);
            RhLayout l = train_layout(&k, layouts[n]);
            RhTrainMemory memory = rh_train_memory(&k.c, &l);
            RhEngineOptions options = {0};
            g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
            g_autoptr(RhRun) run = rh_rehearse_isolated(p, k.c.platform, &options, NULL);
            g_autoptr(RhBoundCache) cache = rh_bound_new(&k.c);
            double bound = rh_closed_form_s(cache, &l), graph = rh_segment_graph_s(cache, &l);
            RH_CHECK_CLOSE(memory.peak_bytes,
                           rh_ledger_walk(p, memory.stage, RH_MEMORY_TIER_HBM).peak_bytes, 1e-12);
            CU_ASSERT_TRUE(bound <= graph * (1 + 1e-9) && graph <= run->step_time_s * (1 + 1e-9));
        }
}

/* DeepSpeed's gradients, of 2 bytes: with ZeRO-2 a micro-batch's share beside the sum of others'; when all are in, a flat
 * copy and one in fp32 beside them, of the rank's share (with ZeRO-3 of 1e9 parameters at most), which is the peak of
 * short samples of which all is recomputed; two buckets of 5e8 parameters, one with ZeRO-3. */
static void deepspeed_flattens_gradients(void)
{
    static const struct {
        const char *layout;
        double held, step, buckets; /* bytes a parameter; of gradients in the step; a bucket each */
    } rows[] = {{"dp8,zero0,recompute=full", 2, 2 + 6, 0},
                {"dp8,zero1,recompute=full", 2, (2 + 6) / 8.0, 2},
                {"dp8,zero2,recompute=full", 4 / 8.0, (2 + 6) / 8.0, 2},
                {"dp8,zero3,recompute=full", 2 / 8.0, (2 + 6) / 8.0, 1}};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "deepspeed", 32, 64);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhStageMemory s = rh_stage_memory(model_cost, &l, 0);
        RhTrainMemory m = rh_train_memory(&k.c, &l);
        double params = rh_param_counts_sum(&s.params), fixed = 0;
        for (int use = 0; use < RH_MEMORY_LAST; use++)
            fixed += s.fixed_bytes[use];
        RH_CHECK_CLOSE(s.fixed_bytes[RH_MEMORY_GRADIENTS], rows[i].held * params, 1e-12);
        RH_CHECK_CLOSE(s.flattened_bytes, fmax(rows[i].step - rows[i].held, 0) * params, 1e-12);
        RH_CHECK_CLOSE(rh_bucket_bytes(&k.c, &l), rows[i].buckets * 5e8 * 2, 1e-12);
        if (rows[i].step > rows[i].held)
            RH_CHECK_CLOSE(m.peak_bytes, fixed + s.flattened_bytes, 1e-12);
        RH_CHECK_CLOSE(rh_ledger_walk(p, 0, RH_MEMORY_TIER_HBM).peak_bytes, m.peak_bytes, 1e-12);
    }
}

/* DeepSpeed's trainer has the loss of Transformers, kernel by kernel in fp32. */
static void deepspeed_has_the_loss_of_transformers(void)
{
    CU_ASSERT_TRUE(rh_stack_by_name("deepspeed", NULL)->eager_loss);
}

static void names_find_their_rows(void)
{
    CU_ASSERT_PTR_EQUAL(rh_adam_moments_by_name("bf16"), &rh_adam_moments_bf16);
    CU_ASSERT_PTR_EQUAL(rh_adam_moments_by_name("8bit"), &rh_adam_moments_8bit);
    CU_ASSERT_PTR_NULL(rh_adam_moments_by_name("fp8"));
    CU_ASSERT_PTR_NULL(rh_adam_moments_by_name(NULL));
}

int main(void)
{
    return rh_test_main(
        "moments",
        (RhTest[]){
            {"states_are_the_formats", states_are_the_formats},
            {"the_optimizer_moves_what_it_keeps", the_optimizer_moves_what_it_keeps},
            {"narrow_gradients_travel_and_are_summed_narrow",
             narrow_gradients_travel_and_are_summed_narrow},
            {"formats_are_accounted_for", formats_are_accounted_for},
            {"deepspeed_flattens_gradients", deepspeed_flattens_gradients},
            {"deepspeed_has_the_loss_of_transformers", deepspeed_has_the_loss_of_transformers},
            {"names_find_their_rows", names_find_their_rows},
            {0}});
}
