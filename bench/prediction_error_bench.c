/* Predicted beside measured, for published steps that no constant of ours was fitted to. */
#include <stdio.h>

#include "strategies/search/rehearsals/rehearse.h"

typedef struct {
    const char *source, *model, *platform, *stack;
    int32_t gpus;
    int64_t global_batch, sequence;
    const RhRecipe *recipe;
    const char *layout;
    bool hardware;     /* the figure counts recomputed FLOPs */
    double measured;   /* TFLOP/s per GPU */
    double measured_s; /* of the step, where the source says that */
    int32_t predict_layers;
    const RhAdamMoments *moments; /* NULL: fp32 */
} Row;

#define LLAMA3 "arXiv 2407.21783 Table 4"
/* Micro-batches and chunks as NVIDIA/Megatron-LM examples/sc21/run_table_1.sh has them. */
#define SC21     "arXiv 2104.04473 Table 1"
#define DEEPSEEK "arXiv 2412.19437 Table 1"
#define OLD      "zero0,sp=off,recompute=full,"

static const Row rows[] = {
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 8192, 2048, 8192, &rh_recipe_bf16,
     "tp8,pp16,vpp8,mb1,zero1", false, .measured = 430},
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 16384, 2048, 8192, &rh_recipe_bf16,
     "tp8,pp16,vpp8,mb1,zero1", false, .measured = 400},
    /* The paper shards gradients too, and does not say how often they are reduced: ZeRO-2 reduces
       every micro-batch. */
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 8192, 2048, 8192, &rh_recipe_bf16,
     "tp8,pp16,vpp8,mb1,zero2", false, .measured = 430},
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 16384, 2048, 8192, &rh_recipe_bf16,
     "tp8,pp16,vpp8,mb1,zero2", false, .measured = 400},
    /* Keys and values are gathered (section 3.3.2). */
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 16384, 128, 131072, &rh_recipe_bf16,
     "tp8,cp16,pp16,vpp8,mb1,zero1,kv=gather", false, .measured = 380},
    {LLAMA3, "llama-3.1-405b", "llama3-roce", "llama3", 16384, 128, 131072, &rh_recipe_bf16,
     "tp8,cp16,pp16,vpp8,mb1,zero2,kv=gather", false, .measured = 380},
    /* 180 K H800-hours for 1e12 tokens are 1,543 tokens a second and GPU: 19.9 s a step. Its pp16
       with DualPipe is pp8 pairs of stages (docs/theory/strategies.md). It trained a module that
       predicts one token more (section 2.2), with moments of 2 bytes (3.3.2). */
    {DEEPSEEK, "deepseek-v3", "hgx-h800:256", "hai-llm", 2048, 15360, 4096, &rh_recipe_fp8_block,
     "tp1,pp8,dp256,ep64,mb1,zero1,dispatch=deepep,schedule=dualpipe,"
     "recompute=layernorm+mla_up_proj+moe_act",
     .measured_s = 19.9, .predict_layers = 1, .moments = &rh_adam_moments_bf16},
    {SC21, "gpt-1.7b", "selene", "megatron-2021", 32, 512, 2048, &rh_recipe_fp16,
     OLD "tp1,pp1,mb16", true, .measured = 137},
    {SC21, "gpt-3.6b", "selene", "megatron-2021", 64, 512, 2048, &rh_recipe_fp16,
     OLD "tp2,pp1,mb16", true, .measured = 138},
    {SC21, "gpt-7.5b", "selene", "megatron-2021", 128, 512, 2048, &rh_recipe_fp16,
     OLD "tp4,pp1,mb16", true, .measured = 142},
    {SC21, "gpt-18b", "selene", "megatron-2021", 256, 1024, 2048, &rh_recipe_fp16,
     OLD "tp8,pp1,mb8", true, .measured = 135},
    {SC21, "gpt-39b", "selene", "megatron-2021", 512, 1536, 2048, &rh_recipe_fp16,
     OLD "tp8,pp2,mb4", true, .measured = 138},
    {SC21, "gpt-76b", "selene", "megatron-2021", 1024, 1792, 2048, &rh_recipe_fp16,
     OLD "tp8,pp4,vpp3,mb2", true, .measured = 140},
    {SC21, "gpt-145b", "selene", "megatron-2021", 1536, 2304, 2048, &rh_recipe_fp16,
     OLD "tp8,pp8,vpp2,mb2", true, .measured = 148},
    {SC21, "gpt-310b", "selene", "megatron-2021", 1920, 2160, 2048, &rh_recipe_fp16,
     OLD "tp8,pp16,vpp2,mb1", true, .measured = 155},
    {SC21, "gpt-530b", "selene", "megatron-2021", 2520, 2520, 2048, &rh_recipe_fp16,
     OLD "tp8,pp35,vpp3,mb1", true, .measured = 163},
    {SC21, "gpt-1t", "selene", "megatron-2021", 3072, 3072, 2048, &rh_recipe_fp16,
     OLD "tp8,pp64,mb1", true, .measured = 163},
};

static RhRehearsal *rehearse_row(const RhProblem *c, const Row *row)
{
    g_autoptr(GError) error = NULL;
    RhLayout layout = rh_layout_default();
    RhEngineOptions options = {0};
    if (!rh_layout_parse(row->layout, &layout, &error))
        return NULL;
    layout = rh_train_canonical(c, &layout);
    if (!rh_train_legal(c, &layout, &error))
        return NULL;
    return rh_rehearse(c, &layout, &options, NULL, NULL, &error);
}

static bool run_row(const Row *row, double *error_frac)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) model = rh_model_load(row->model, &error);
    if (model && row->predict_layers == 1 && !rh_model_set(model, "predict_layers", "1", &error))
        g_clear_pointer(&model, rh_model_free);
    g_autoptr(RhPlatform) bare = model ? rh_platform_load(row->platform, &error) : NULL;
    if (!bare) {
        printf("%s: %s\n", row->model, error->message);
        return false;
    }
    const RhStack *stack = rh_stack_by_name(row->stack, NULL);
    g_autoptr(RhPlatform) platform = rh_stack_platform(stack, bare);
    RhProblem c = {model,
                   platform,
                   stack,
                   {.global_batch = row->global_batch,
                    .sequence = row->sequence,
                    .gpus = row->gpus,
                    .recipe = row->recipe,
                    .moments = row->moments}};
    g_autoptr(RhRehearsal) r = rehearse_row(&c, row);
    if (!r)
        return false;
    double peak = platform->device->peak_flops_per_s[row->recipe->linear].value;
    double predicted = (row->hardware ? r->hfu_frac * peak : r->model_flops_per_s_per_gpu) / 1e12;
    double measured =
        row->measured_s > 0 ? predicted * r->step_time_s / row->measured_s : row->measured;
    /* Error of the step time: TFLOP/s the other way round. */
    *error_frac = measured / predicted - 1;
    printf("%-15s %6d  %-44s %8.3f s  %6.1f %6.0f  %+6.1f %%  %5.1f GiB%s\n", row->model, row->gpus,
           row->layout, r->step_time_s, predicted, measured, *error_frac * 100,
           r->memory.peak_bytes / RH_GIB_BYTES, r->fits ? "" : " (does not fit)");
    fflush(stdout); /* a child that is forked next has a copy of what is not written yet */
    return true;
}

int main(void)
{
    double sum = 0;
    int count = 0;
    printf("%-15s %6s  %-44s %10s  %6s %6s  %8s\n", "model", "GPUs", "layout", "step", "TF/s",
           "meas.", "time err");
    fflush(stdout);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double error_frac = 0;
        if (!run_row(&rows[i], &error_frac))
            continue;
        sum += error_frac < 0 ? -error_frac : error_frac;
        count++;
    }
    printf(
        "%d rows of %s, %s and %s; mean absolute error of the step %.1f %%; none was fitted to\n",
        count, LLAMA3, DEEPSEEK, SC21, count ? sum / count * 100 : 0.0);
    return count == (int)G_N_ELEMENTS(rows) ? 0 : 1;
}
