/* Weights of 4 bytes, and weights that are held and gathered narrow: states, what replicas exchange, and
 * what is refused, against counts made here by hand. llama-3.1-8b: 32 layers of h 4096, f 14336, 32 query
 * heads and 8 key-value heads of 128. */
#include <string.h>

#include "base/error.h"
#include "sim/memory_ledger.h"
#include "strategies/train/block_cost.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define LAYERS (32.0 * (4096.0 * (4096 + 2048 + 4096) + 3 * 4096.0 * 14336 + 2 * 4096))

static TrainKit kit_on(const char *platform, const RhRecipe *recipe, bool narrow)
{
    TrainKit k = train_kit("llama-3.1-8b", platform, "megatron", 32, 2048);
    k.c.job.recipe = recipe;
    k.c.job.narrow_weights = narrow;
    return k;
}

/* Products of a Hopper read fp8 along the sum alone: two layouts are made. MX formats need a
 * Blackwell. */
static TrainKit kit(const RhRecipe *recipe, bool narrow)
{
    return kit_on(recipe->microscaled ? "dgx-b200:1" : "dgx-h200:1", recipe, narrow);
}

static RhStageMemory states_of(const RhProblem *c, const RhLayout *l)
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(c, l);
    return rh_stage_memory(model_cost, l, 0);
}

/* Returns the bytes that the step gathers. */
static double gathered_bytes(const RhProblem *c, const RhLayout *l)
{
    g_autoptr(RhProgram) p = rh_train_build(c, l, NULL);
    double sum = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        sum += task->lane == RH_LANE_GATHER ? task->bytes : 0;
    }
    return sum;
}

/* A weight of 4 bytes is its own master: 4 + 4 + 8 where mixed precision has 2 + 4 + 12. */
static void whole_weights_have_no_masters(void)
{
    const RhRecipe *const recipes[] = {&rh_recipe_tf32, &rh_recipe_fp32};
    for (size_t i = 0; i < G_N_ELEMENTS(recipes); i++) {
        g_auto(TrainKit) k = kit(recipes[i], false);
        RhLayout l = train_layout(&k, "tp1,dp8,zero1");
        RhStageMemory m = states_of(&k.c, &l);
        double params = rh_param_counts_sum(&m.params);
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], 4 * params, 1e-14);
        double dummies = 4096.0 * (6144 + 4096 + 28672 + 14336); /* a shape of each, as wide */
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_GRADIENTS], 4 * (params + dummies), 1e-14);
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_OPTIMIZER], 8 * params / 8, 1e-14);
        RH_CHECK_CLOSE(gathered_bytes(&k.c, &l), 4 * params, 1e-14);
    }
}

/* Without masters a weight of 2 bytes has its gradient and its moments beside it. The optimizer reads
 * and writes no master, 8 bytes, and reads the weight, 2. A stack that casts masters holds weights. */
static void weights_are_their_own_masters_where_none_are_kept(void)
{
    static const char *const stacks[] = {"bare", "torchtitan-2024"};
    for (size_t i = 0; i < G_N_ELEMENTS(stacks); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", stacks[i], 32, 2048);
        RhLayout l = train_layout(&k, "tp1,dp8,zero3");
        k.c.job.gradient_bytes = 2;
        k.c.job.moments = &rh_adam_moments_8bit;
        RhStates states = {.params = {{LAYERS, 0}}, .linear = LAYERS};
        double masters = rh_optimizer_kernel(&k.c, &l, &states).bytes;
        k.c.job.no_masters = true;
        double none = rh_optimizer_kernel(&k.c, &l, &states).bytes;
        RhStageMemory m = states_of(&k.c, &l);
        double share = rh_param_counts_sum(&m.params) / 8;
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * share, 1e-12);
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_OPTIMIZER], 2 * (1 + 4.0 / 2048) * share, 1e-12);
        RH_CHECK_CLOSE(masters - none, (8 - 2) * LAYERS / 8, 1e-9);
        k.c.job.recipe = &rh_recipe_fp32; /* whose weights are their own masters anyway */
        RH_CHECK_CLOSE(rh_optimizer_state_bytes(&k.c), 2 * (1 + 4.0 / 2048), 1e-14);
    }
}

/* Every activation that was of 2 bytes is of 4. */
static void whole_elements_are_kept_and_moved_whole(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhShard half = shard_of(1, 1024, 1);
    RhShard whole = half;
    whole.dtype = RH_DTYPE_TF32;
    const double statistics =
        4 * 1024 * 32; /* fp32 whatever the format: a log-sum-exp a query, head */
    double a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &half).kept;
    double b = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &whole).kept;
    RH_CHECK_CLOSE(b - statistics, 2 * (a - statistics), 1e-14);
    CU_ASSERT_EQUAL(rh_boundary_bytes(m, &whole), 2 * rh_boundary_bytes(m, &half));
}

/* Products run at the data sheet's rates for the format: of an H100 989.4, 494.7 and 67. */
static void products_run_at_the_formats_rate(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:1", NULL);
    RhKernel gemm = {.cls = RH_KERNEL_GEMM, .batch = 1, .m = 16384, .n = 16384, .k = 16384};
    double s[3];
    const RhDtype formats[] = {RH_DTYPE_BF16, RH_DTYPE_TF32, RH_DTYPE_FP32};
    for (int i = 0; i < 3; i++) {
        gemm.dtype = (uint8_t)formats[i];
        gemm.flops = 2.0 * 16384 * 16384 * 16384;
        gemm.bytes = 3.0 * 16384 * 16384 * rh_dtype_bytes(formats[i]);
        s[i] = rh_kernel_time_s(p->device, &gemm);
    }
    RH_CHECK_CLOSE(s[1] / s[0], 989.4 / 494.7, 0.05);
    RH_CHECK_CLOSE(s[2] / s[0], 989.4 / 67, 0.05);
}

/* Layers hold both layouts of narrow weights, 1 byte each, and the rest unchanged, without a copy
 * of 2 bytes; gathers move 1 byte. */
static void narrow_weights_are_held_and_gathered_narrow(void)
{
    g_auto(TrainKit) wide = kit(&rh_recipe_fp8, false);
    g_auto(TrainKit) narrow = kit(&rh_recipe_fp8, true);
    RhLayout l = train_layout(&wide, "tp1,dp8,zero1");
    RhStageMemory a = states_of(&wide.c, &l), b = states_of(&narrow.c, &l);
    double all = rh_param_counts_sum(&a.params), rest = all - LAYERS;
    CU_ASSERT_EQUAL(rh_param_counts_sum(&b.params), all);
    RH_CHECK_CLOSE(a.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * all + 2 * LAYERS, 1e-14);
    RH_CHECK_CLOSE(b.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * rest + 2 * LAYERS, 1e-14);
    CU_ASSERT_EQUAL(b.fixed_bytes[RH_MEMORY_OPTIMIZER], a.fixed_bytes[RH_MEMORY_OPTIMIZER]);
    RH_CHECK_CLOSE(gathered_bytes(&wide.c, &l), 2 * all, 1e-14);
    RH_CHECK_CLOSE(gathered_bytes(&narrow.c, &l), 2 * rest + LAYERS, 1e-14);
    /* A rank casts its share (4 B), and makes the second layout of what it gathered (2 B). */
    RhStates states = {.params = {{all, 0}}, .linear = LAYERS};
    double before = rh_optimizer_kernel(&wide.c, &l, &states).bytes;
    double after = rh_optimizer_kernel(&narrow.c, &l, &states).bytes;
    RH_CHECK_CLOSE(before - after, 4 * LAYERS - (4 * LAYERS / 8 + 2 * LAYERS), 1e-9);
}

/* Products of a Blackwell read fp8 in any layout: one byte beside the two of a weight, no second
 * layout of what was gathered, and a cast that reads two bytes and writes one. */
static void one_layout_is_held_where_products_read_any(void)
{
    g_auto(TrainKit) wide = kit_on("dgx-b200:1", &rh_recipe_fp8, false);
    g_auto(TrainKit) narrow = kit_on("dgx-b200:1", &rh_recipe_fp8, true);
    RhLayout l = train_layout(&wide, "tp1,dp8,zero1");
    RhStageMemory a = states_of(&wide.c, &l), b = states_of(&narrow.c, &l);
    double all = rh_param_counts_sum(&a.params);
    RH_CHECK_CLOSE(a.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * all + LAYERS, 1e-14);
    RH_CHECK_CLOSE(b.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * (all - LAYERS) + LAYERS, 1e-14);
    RhStates states = {.params = {{all, 0}}, .linear = LAYERS};
    double before = rh_optimizer_kernel(&wide.c, &l, &states).bytes;
    double after = rh_optimizer_kernel(&narrow.c, &l, &states).bytes;
    RH_CHECK_CLOSE(before - after, 3 * LAYERS - 3 * LAYERS / 8, 1e-9);
    const RhDevice *device = wide.c.platform->device;
    RH_CHECK_CLOSE(rh_recipe_on(&rh_recipe_fp8, device)->cast_bytes, 2 + 1, 1e-14);
    RH_CHECK_CLOSE(rh_recipe_on(&rh_recipe_fp8_current, device)->cast_bytes, 2 + 2 + 1, 1e-14);
    CU_ASSERT_PTR_EQUAL(rh_recipe_on(&rh_recipe_mxfp8, device), &rh_recipe_mxfp8);
    CU_ASSERT_PTR_EQUAL(rh_recipe_on(&rh_recipe_nvfp4, device), &rh_recipe_nvfp4);
}

/* Scales along rows and along columns make two layouts that are not made of one another: both would be
 * gathered, or the wide weight, which is less. With ZeRO-3 a rank has its share of both. */
static void layouts_apart_are_gathered_wide(void)
{
    g_auto(TrainKit) narrow = kit(&rh_recipe_mxfp8, true);
    RhLayout l = train_layout(&narrow, "tp1,dp8,zero1"),
             all = train_layout(&narrow, "tp1,dp8,zero3");
    RhStageMemory a = states_of(&narrow.c, &l), b = states_of(&narrow.c, &all);
    double params = rh_param_counts_sum(&a.params), rest = params - LAYERS;
    RH_CHECK_CLOSE(gathered_bytes(&narrow.c, &l), 2 * params, 1e-14);
    RH_CHECK_CLOSE(a.fixed_bytes[RH_MEMORY_WEIGHTS], 2 * rest + 2 * 33.0 / 32 * LAYERS, 1e-14);
    RH_CHECK_CLOSE(b.fixed_bytes[RH_MEMORY_WEIGHTS], a.fixed_bytes[RH_MEMORY_WEIGHTS] / 8, 1e-14);
}

/* Copies that are cast are shared out with the weights they are of: 2 + 2 bytes of layers over eight ranks. */
static void casts_are_shared_out_with_weights(void)
{
    g_auto(TrainKit) k = kit(&rh_recipe_fp8, false);
    RhLayout l = train_layout(&k, "tp1,dp8,zero3");
    RhStageMemory m = states_of(&k.c, &l);
    double all = rh_param_counts_sum(&m.params);
    RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], (2 * all + 2 * LAYERS) / 8, 1e-14);
}

/* Frozen ones in one layout of fp8, in both where scales lie along both, in 4 bits and their scales; what is outside of layers, and adapters,
 * in 2 bytes. ZeRO-3 shares out all of it, and gathers frozen weights as trained ones: forward and backward. */
static void frozen_weights_are_held_narrow_and_shared_out(void)
{
    static const struct {
        const RhRecipe *recipe;
        bool narrow;
        const char *layout;
        double layers_bytes; /* a weight */
        int32_t shares;
        const RhFrozenFormat *frozen;
    } rows[] = {
        {&rh_recipe_bf16, false, "tp1,dp8,zero0", 2, 1, NULL},
        {&rh_recipe_fp8, false, "tp1,dp8,zero1", 4, 1, NULL},
        {&rh_recipe_fp8, true, "tp1,dp8,zero0", 1, 1, NULL},
        {&rh_recipe_mxfp8, true, "tp1,dp8,zero1", 2 * 33.0 / 32, 1, NULL},
        {&rh_recipe_bf16, false, "tp1,dp8,zero3", 2, 8, NULL},
        {&rh_recipe_fp8, true, "tp1,dp8,zero3", 1, 8, NULL},
        {&rh_recipe_bf16, false, "tp1,dp8,zero0", 4.126953125 / 8, 1, &rh_frozen_format_nf4},
        {&rh_recipe_bf16, false, "tp1,dp8,zero3", 4.126953125 / 8, 8, &rh_frozen_format_nf4},
        {&rh_recipe_fp16, false, "tp1,dp8,zero3", 4.5 / 8, 8, &rh_frozen_format_nf4_single},
        {&rh_recipe_bf16, false, "tp1,dp8,zero3", 4.15625 / 8, 8, &rh_frozen_format_int4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = kit(rows[i].recipe, rows[i].narrow);
        k.c.job.lora = (RhLora){16, RH_LINEAR_QKV};
        k.c.job.frozen = rows[i].frozen;
        RhLayout l = train_layout(&k, rows[i].layout);
        RhStageMemory m = states_of(&k.c, &l);
        double adapters = 32 * 16.0 * (4096 + 6144), weights = (double)rh_model_params(k.model);
        double held = rows[i].layers_bytes * LAYERS + 2 * (weights - LAYERS + adapters);
        RH_CHECK_CLOSE(rh_param_counts_sum(&m.params), adapters, 1e-14);
        RH_CHECK_CLOSE(m.fixed_bytes[RH_MEMORY_WEIGHTS], held / rows[i].shares, 1e-9);
        double times = rows[i].shares > 1 ? 2 * 32.0 / 8 /* passes, micro-batches */ : 0;
        double once = rows[i].shares > 1 || l.zero == 0 ? 0 : 2 * adapters;
        double narrower = rows[i].frozen ? (2 - rows[i].layers_bytes) * LAYERS : 0;
        RH_CHECK_CLOSE(gathered_bytes(&k.c, &l),
                       times * (2 * (weights + adapters) - narrower) + once, 1e-9);
    }
}

/* Frozen weights are not cast again; where one layout is held, every micro-batch makes the
 * other. */
static void frozen_layouts_are_made_in_every_backward(void)
{
    g_auto(TrainKit) k = kit(&rh_recipe_fp8, true);
    k.c.job.lora = (RhLora){16, RH_LINEAR_QKV};
    RhStates states = {.frozen = {{LAYERS, 0}}, .linear = LAYERS};
    RhLayout l = train_layout(&k, "tp1,dp8,zero1");
    RH_CHECK_CLOSE(rh_optimizer_kernel(&k.c, &l, &states).bytes, 4 * 2 * LAYERS, 1e-14);
    g_auto(TrainKit) apart = kit(&rh_recipe_mxfp8, true);
    apart.c.job.lora = (RhLora){16, RH_LINEAR_QKV};
    CU_ASSERT_EQUAL(rh_optimizer_kernel(&apart.c, &l, &states).bytes, 0);
}

/* The program holds what the closed form says. */
static void the_ledger_knows_all(void)
{
    static const char *const layouts[] = {"tp1,dp8,zero1", "tp2,pp2,dp2,zero1", "tp1,dp8,zero2",
                                          "tp1,dp8,zero3"};
    const struct {
        const RhRecipe *recipe;
        bool narrow;
        int32_t rank;
        const RhFrozenFormat *frozen;
        bool no_masters;
    } rows[] = {{&rh_recipe_fp32, false, 0, NULL, false},
                {&rh_recipe_mxfp8, true, 0, NULL, false},
                {&rh_recipe_fp8_block, true, 0, NULL, false},
                {&rh_recipe_fp8, false, 0, NULL, false},
                {&rh_recipe_fp8, true, 16, NULL, false},
                {&rh_recipe_bf16, false, 16, NULL, false},
                {&rh_recipe_bf16, false, 16, &rh_frozen_format_nf4, false},
                {&rh_recipe_bf16, false, 0, NULL, true},
                {&rh_recipe_fp16, false, 16, &rh_frozen_format_int4, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(layouts); j++) {
            g_auto(TrainKit) k = kit(rows[i].recipe, rows[i].narrow);
            k.c.job.lora = (RhLora){rows[i].rank, 0};
            k.c.job.frozen = rows[i].frozen;
            k.c.job.no_masters = rows[i].no_masters;
            RhLayout l = train_layout(&k, layouts[j]);
            g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
            RhTrainMemory m = rh_train_memory(&k.c, &l);
            CU_ASSERT_PTR_NOT_NULL_FATAL(p);
            RhLedger ledger = rh_ledger_walk(p, m.stage, RH_MEMORY_TIER_HBM);
            RH_CHECK_CLOSE(ledger.peak_bytes, m.peak_bytes, 1e-12);
        }
}

static void what_does_not_go_together_is_refused(void)
{
    static const struct {
        const RhRecipe *recipe;
        bool narrow;
        const char *platform, *layout, *says; /* NULL: legal */
        int32_t rank;
        const RhFrozenFormat *frozen;
    } rows[] = {
        {&rh_recipe_bf16, false, "dgx-h100:1", "dp8", NULL, 16, &rh_frozen_format_nf4},
        {&rh_recipe_bf16, false, "dgx-h100:1", "dp8,zero3", NULL, 16, &rh_frozen_format_nf4},
        {&rh_recipe_bf16, false, "dgx-h100:1", "dp8", "without adapters", 0, &rh_frozen_format_nf4},
        {&rh_recipe_fp8, false, "dgx-h100:1", "dp8", "multiplied in 16", 16, &rh_frozen_format_nf4},
        {&rh_recipe_fp32, false, "dgx-h100:1", "dp8", "multiplied in 16", 16,
         &rh_frozen_format_nf4},
        {&rh_recipe_bf16, false, "dgx-h100:1", "dp8,zero3,hpz2", "leave hpz out", 16,
         &rh_frozen_format_nf4},
        {&rh_recipe_int4_weights, false, "dgx-h100:1", "dp8", "lora.base=nf4", 16, NULL},
        {&rh_recipe_tf32, false, "dgx-h100:1", "dp8", NULL, 0, NULL},
        {&rh_recipe_tf32, false, "dgx-1:1", "dp8", "no units for tf32", 0, NULL},
        {&rh_recipe_fp32, false, "dgx-1:1", "dp8", NULL, 0, NULL},
        {&rh_recipe_bf16, true, "dgx-h100:1", "dp8", "not narrow", 0, NULL},
        {&rh_recipe_fp8, true, "dgx-h100:1", "dp8,zero1", NULL, 0, NULL},
        {&rh_recipe_fp8, true, "dgx-h100:1", "dp8,zero0", "valid zero: 1, 2", 0, NULL},
        {&rh_recipe_fp8, true, "dgx-h100:1", "dp8,zero3", NULL, 0, NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", rows[i].platform, "bare", 16, 4096);
        RhLayout l = rh_train_default(&k.c);
        k.c.job.recipe = rows[i].recipe;
        k.c.job.narrow_weights = rows[i].narrow;
        k.c.job.lora = (RhLora){rows[i].rank, 0};
        k.c.job.frozen = rows[i].frozen;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        l = rh_train_canonical(&k.c, &l);
        bool legal = rh_train_job_legal(&k.c, &error) && rh_train_legal(&k.c, &l, &error);
        CU_ASSERT_EQUAL(legal, rows[i].says == NULL);
        CU_ASSERT_TRUE(legal || (g_error_matches(error, RH_ERROR, RH_ERROR_USAGE) &&
                                 strstr(error->message, rows[i].says)));
    }
}

int main(void)
{
    return rh_test_main(
        "weight_formats",
        (RhTest[]){
            {"whole_weights_have_no_masters", whole_weights_have_no_masters},
            {"weights_are_their_own_masters_where_none_are_kept",
             weights_are_their_own_masters_where_none_are_kept},
            {"whole_elements_are_kept_and_moved_whole", whole_elements_are_kept_and_moved_whole},
            {"products_run_at_the_formats_rate", products_run_at_the_formats_rate},
            {"narrow_weights_are_held_and_gathered_narrow",
             narrow_weights_are_held_and_gathered_narrow},
            {"one_layout_is_held_where_products_read_any",
             one_layout_is_held_where_products_read_any},
            {"layouts_apart_are_gathered_wide", layouts_apart_are_gathered_wide},
            {"casts_are_shared_out_with_weights", casts_are_shared_out_with_weights},
            {"frozen_weights_are_held_narrow_and_shared_out",
             frozen_weights_are_held_narrow_and_shared_out},
            {"frozen_layouts_are_made_in_every_backward",
             frozen_layouts_are_made_in_every_backward},
            {"the_ledger_knows_all", the_ledger_knows_all},
            {"what_does_not_go_together_is_refused", what_does_not_go_together_is_refused},
            {0}});
}
