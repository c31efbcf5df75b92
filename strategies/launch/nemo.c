/* Megatron-Bridge, the training library of NVIDIA NeMo: a recipe as a Python file, which torchrun
 * starts. Names and rules are those of v0.6.0 (docs/guide/nemo-flags.md cites them); a test
 * compares every name written here with strategies/data/nemo-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/framework.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define RECIPE_FILE "rehearsed_recipe.py"
#define WIDTH       79
#define INDENT      "    "

/* --- a recipe: values for fields of each part of its configuration --- */

/* A call "put(cfg.model, tensor_model_parallel_size=8, ...)", broken where lines would be too
 * long. */
typedef struct {
    GString *text;
    size_t column;
} Put;

static Put begin_put(const char *part)
{
    Put p = {g_string_new(NULL), 0};
    g_string_printf(p.text, "put(cfg.%s", part);
    p.column = p.text->len;
    return p;
}

G_GNUC_PRINTF(2, 3)
static void put(Put *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *pair = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    bool breaks = p->column + strlen(pair) + 3 > WIDTH;
    g_string_append_printf(p->text, ",%s%s", breaks ? "\n" INDENT : " ", pair);
    p->column = (breaks ? strlen(INDENT) : p->column + 2) + strlen(pair);
}

static void end_put(Put *p, GString *recipe)
{
    g_string_append_printf(recipe, "%s)\n", p->text->str);
    g_string_free(p->text, TRUE);
}

/* --- the model --- */

static bool check_model(const RhProblem *c, GError **error)
{
    const RhLayerKind *k = &c->model->kinds[0];
    bool biased = k->o_bias == k->ffn_bias && (!k->o_bias || k->qkv_bias);
    uint32_t plain = 1 << RH_ACTIVATION_GELU | 1 << RH_ACTIVATION_RELU | 1 << RH_ACTIVATION_RELU2;
    return biased
               ? rh_launch_check_numerics(&rh_framework_nemo, c, plain, true, error)
               : rh_launch_fail_model(
                     &rh_framework_nemo, c,
                     "biases in some linear layers and not in others (but for QKV alone)", error);
}

/* Is the scaling linear, so that Megatron-Core has it? Its constants of Llama 3.1 except the factor
 * are its own. */
static bool is_linear(const RhRopeScaling *rope)
{
    return rope->type && strcmp(rope->type, "linear") == 0;
}

static void put_rotation(Put *p, const RhModel *m)
{
    const RhRopeScaling *rope = &m->numerics.rope;
    RhLaunchNumber room;
    put(p, "position_embedding_type=\"rope\"");
    put(p, "rotary_base=%" G_GINT64_FORMAT, m->rotary_base);
    if (m->numerics.rotary_frac < 1)
        put(p, "rotary_percent=%s", rh_launch_number(&room, m->numerics.rotary_frac));
    if (rh_rope_is_llama(rope))
        put(p, "rope_scaling=True, rope_scaling_factor=%s", rh_launch_number(&room, rope->factor));
    else if (is_linear(rope))
        put(p, "seq_len_interpolation_factor=%s", rh_launch_number(&room, rope->factor));
}

static void put_attention(Put *p, const RhModel *m, const RhLayerKind *k)
{
    put(p, "num_attention_heads=%d", k->heads);
    put(p, "num_query_groups=%d", k->kv_heads);
    put(p, "kv_channels=%d", k->head_size);
    if (k->qk_norm)
        put(p, "qk_layernorm=True");
    if (k->window_tokens > 0)
        put(p, "window_size=(%d, 0)", k->window_tokens - 1);
    put(p, "attention_dropout=%s", m->attention_dropout ? "0.1" : "0.0");
    put(p, "hidden_dropout=%s", m->hidden_dropout ? "0.1" : "0.0");
    if (m->position == RH_POSITION_ROTARY)
        put_rotation(p, m);
}

static void put_experts(Put *p, const RhProblem *c, const RhLayout *l, const RhLayerKind *k)
{
    put(p, "num_moe_experts=%d", k->experts);
    put(p, "moe_router_topk=%d", k->experts_per_token);
    put(p, "moe_ffn_hidden_size=%" G_GINT64_FORMAT, k->ffn_width);
    put(p, "moe_grouped_gemm=True");
    put(p, "moe_token_dispatcher_type=\"%s\"",
        l->dispatch == RH_DISPATCH_DEEPEP ? "flex" : "alltoall");
    if (l->dispatch == RH_DISPATCH_DEEPEP)
        put(p, "moe_flex_dispatcher_backend=\"deepep\"");
    if (l->overlap == RH_OVERLAP_SHARED)
        put(p, "moe_shared_expert_overlap=True");
    if (l->overlap == RH_OVERLAP_PAIRS)
        put(p, "overlap_moe_expert_parallel_comm=True");
    if (k->shared_width > 0)
        put(p, "moe_shared_expert_intermediate_size=%" G_GINT64_FORMAT, k->shared_width);
    if (k->n_group > 1) {
        put(p, "moe_router_num_groups=%d", k->n_group);
        put(p, "moe_router_group_topk=%d", k->topk_group);
    }
    if (c->job.load.capacity > 0)
        put(p, "moe_expert_capacity_factor=%g", c->job.load.capacity);
}

static void put_model(Put *p, const RhProblem *c, const RhLayout *l)
{
    const RhModel *m = c->model;
    const RhLayerKind *k = &m->kinds[0];
    put(p, "num_layers=%d", m->layers_count);
    put(p, "hidden_size=%" G_GINT64_FORMAT, m->hidden);
    put(p, "ffn_hidden_size=%" G_GINT64_FORMAT, k->ffn_width);
    put(p, "vocab_size=%" G_GINT64_FORMAT, m->vocab);
    put(p, "should_pad_vocab=True");
    put(p, "make_vocab_size_divisible_by=128");
    put(p, "seq_length=%" G_GINT64_FORMAT, c->job.sequence);
    put_attention(p, m, k);
    static const char *const functions[] = {[RH_ACTIVATION_SILU] = "torch.nn.functional.silu",
                                            [RH_ACTIVATION_GELU] = "torch.nn.functional.gelu",
                                            [RH_ACTIVATION_RELU] = "torch.nn.functional.relu",
                                            [RH_ACTIVATION_RELU2] = "squared_relu"};
    if (k->ffn_gated)
        put(p, "gated_linear_unit=True");
    put(p, "activation_func=%s", functions[rh_launch_activation(m)]);
    put(p, "normalization=\"%s\"", m->norm == RH_NORM_RMS ? "RMSNorm" : "LayerNorm");
    RhLaunchNumber room;
    if (m->numerics.norm_epsilon > 0)
        put(p, "layernorm_epsilon=%s", rh_launch_number(&room, m->numerics.norm_epsilon));
    if (m->numerics.gain_from_one)
        put(p, "layernorm_zero_centered_gamma=True");
    put(p, "add_bias_linear=%s", k->o_bias ? "True" : "False");
    if (k->qkv_bias && !k->o_bias)
        put(p, "add_qkv_bias=True");
    put(p, "share_embeddings_and_output_weights=%s", m->tied_embeddings ? "True" : "False");
    if (k->ffn == &rh_mixture)
        put_experts(p, c, l, k);
}

/* --- the layout --- */

static void put_recompute(Put *p, const RhLayout *l)
{
    uint32_t modules = (uint32_t)l->recompute;
    if (modules == RH_RECOMPUTE_NONE)
        return;
    if (modules == RH_RECOMPUTE_FULL) {
        put(p, "recompute_granularity=\"full\"");
        put(p, "recompute_method=\"uniform\"");
        put(p, "recompute_num_layers=1");
        return;
    }
    g_autoptr(GString) names = g_string_new(NULL);
    for (int bit = 0; rh_recompute_modules[bit]; bit++)
        if (modules >> bit & 1)
            g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "",
                                   rh_recompute_modules[bit]);
    put(p, "recompute_granularity=\"selective\"");
    put(p, "recompute_modules=[%s]",
        modules == RH_RECOMPUTE_SELECTIVE ? "\"core_attn\"" : names->str);
}

/* Writes the number of offloaded layers, which are whole; the last one never is. */
static void put_offload(Put *p, const RhModel *m, const RhLayout *l)
{
    int32_t layers = (m->layers_count * l->offload + 50) / 100; /* the nearest: a third is 33 % */
    if (l->offload > 0)
        put(p, "cpu_offloading=True, cpu_offloading_weights=False, cpu_offloading_num_layers=%d",
            MIN(layers, m->layers_count - 1));
}

static void put_grid(Put *p, const RhLayout *l)
{
    put(p, "tensor_model_parallel_size=%d", l->tp);
    put(p, "pipeline_model_parallel_size=%d", l->pp);
    if (l->vpp > 1)
        put(p, "virtual_pipeline_model_parallel_size=%d", l->vpp);
    put(p, "context_parallel_size=%d", l->cp);
    if (l->cp > 1)
        put(p, "cp_comm_type=\"%s\"",
            l->ulysses > 1             ? "a2a"
            : l->kv == RH_CONTEXT_RING ? "p2p"
                                       : "all_gather");
    if (l->ep > 1)
        put(p, "expert_model_parallel_size=%d", l->ep);
    if (l->etp > 0)
        put(p, "expert_tensor_parallel_size=%d", l->etp);
    put(p, "sequence_parallel=%s", l->sequence_parallel && l->tp > 1 ? "True" : "False");
    if (l->tensor_overlap) /* user buffers with Transformer Engine's defaults, as simulated */
        put(p,
            "tp_comm_overlap=True, tp_comm_overlap_cfg=None, tp_comm_bootstrap_backend=\"nccl\"");
    if (l->zero >= 2)
        put(p, "gradient_accumulation_fusion=False");
    if (l->zero == 3)
        put(p, "init_model_with_meta_device=True");
    put_recompute(p, l);
}

static void put_data(GString *recipe, const RhProblem *c, const RhLayout *l)
{
    Put ddp = begin_put("ddp"), optimizer = begin_put("optimizer"), dist = begin_put("dist");
    const char *share = l->zero > 0 ? "True" : "False";
    put(&ddp, "use_distributed_optimizer=%s", share);
    put(&ddp, "overlap_grad_reduce=%s", l->dp > 1 ? "True" : "False");
    put(&ddp, "overlap_param_gather=%s", share);
    if (l->zero >= 2)
        put(&ddp, "use_megatron_fsdp=True, data_parallel_sharding_strategy=\"%s\"",
            l->zero == 3 ? "optim_grads_params" : "optim_grads");
    if (l->shard > 0)
        put(&ddp, "num_distributed_optimizer_instances=%d", rh_train_replicas(l) / l->shard);
    if (l->outer)
        put(&ddp, "outer_dp_sharding_strategy=\"optim\"");
    put(&optimizer, "use_distributed_optimizer=%s", share);
    put(&optimizer, "overlap_param_gather=%s", share);
    put(&optimizer, "lr=float(given[\"--lr\"])");
    if (rh_launch_has_narrow_moments(c))
        put(&optimizer, "use_precision_aware_optimizer=True, exp_avg_dtype=torch.bfloat16, "
                        "exp_avg_sq_dtype=torch.bfloat16");
    put(&dist, "use_tp_pp_dp_mapping=%s", l->order == RH_ORDER_TP_PP_DP ? "True" : "False");
    if (l->zero >= 2)
        put(&dist, "use_megatron_fsdp=True");
    end_put(&ddp, recipe);
    end_put(&optimizer, recipe);
    end_put(&dist, recipe);
    if (l->zero >= 2)
        g_string_append(recipe, "put(cfg.checkpoint, ckpt_format=\"fsdp_dtensor\")\n");
}

/* --- the job --- */

static const char *precision_of(const RhProblem *c)
{
    static const struct {
        const RhRecipe *recipe;
        const char *name;
    } names[] = {{&rh_recipe_bf16, "bf16_mixed"},
                 {&rh_recipe_fp8, "bf16_with_fp8_delayed_scaling_mixed"},
                 {&rh_recipe_fp8_current, "bf16_with_fp8_current_scaling_mixed"},
                 {&rh_recipe_fp8_block, "bf16_with_fp8_subchannel_scaling_mixed"},
                 {&rh_recipe_mxfp8, "bf16_with_mxfp8_mixed"},
                 {&rh_recipe_nvfp4, "bf16_with_nvfp4_mixed"}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (c->job.recipe == names[i].recipe)
            return names[i].name;
    return NULL;
}

/* Writes the recipe's formats. Its own recipes differ in the layers left in bf16 and in gathered
 * formats: both as simulated. */
static void put_numbers(GString *recipe, const RhProblem *c)
{
    Put p = begin_put("mixed_precision");
    const char *narrow = c->job.narrow_weights ? "True" : "False";
    put(&p, "grad_reduce_in_fp32=%s", rh_gradient_bytes(c) == 4 ? "True" : "False");
    if (c->job.recipe == &rh_recipe_nvfp4)
        put(&p, "fp4_param_gather=%s", narrow);
    else if (c->job.recipe != &rh_recipe_bf16)
        put(&p, "fp8_param_gather=%s", narrow);
    if (c->job.recipe == &rh_recipe_mxfp8)
        put(&p, "reuse_grad_buf_for_mxfp8_param_ag=%s", narrow);
    if (c->job.narrow_attention)
        put(&p, "fp8_dot_product_attention=True");
    if (c->job.recipe != &rh_recipe_bf16)
        put(&p, "first_last_layers_bf16=False");
    end_put(&p, recipe);
}

/* Imports of a recipe, each with the text that needs it. */
static const struct {
    const char *line, *needed_by;
} imports[] = {
    {"import sys\n\n", ""},
    {"import torch\n\n", "torch."},
    {"from megatron.bridge.peft.lora import LoRA\n", "LoRA("},
    {"from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config\n", ""},
    {"from megatron.bridge.training.finetune import finetune\n", "finetune("},
    {"from megatron.bridge.training.gpt_step import forward_step\n", ""},
    {"from megatron.bridge.training.mixed_precision import get_mixed_precision_config\n", ""},
    {"from megatron.bridge.training.pretrain import pretrain\n", "\npretrain("},
    {"from megatron.core.activations import squared_relu\n", "squared_relu"}};

static const char head[] = "\n\ndef put(part, **values):\n"
                           "    for name, value in values.items():\n"
                           "        getattr(part, name)  # a name that is not there is an error\n"
                           "        setattr(part, name, value)\n\n\n"
                           "given = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
                           "cfg = vanilla_gpt_pretrain_config()\n";

/* Names of the model's adapted linear layers in Megatron-Bridge: "\"linear_qkv\",
 * \"linear_proj\"". */
static char *adapted_modules(const RhProblem *c)
{
    static const char *const all[] = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint bit = 0; bit < G_N_ELEMENTS(all); bit++)
        if (c->job.lora.modules == 0 || (c->job.lora.modules >> bit & 1))
            g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", all[bit]);
    return g_string_free(g_steal_pointer(&names), FALSE);
}

/* Writes the adapters: each expert has its own, as simulated. */
static void put_adapters(RhLaunchText *t, GString *recipe)
{
    const RhProblem *c = t->c;
    bool mixed = c->model->kinds[0].ffn == &rh_mixture;
    g_autofree char *modules = adapted_modules(c);
    g_string_append_printf(recipe,
                           "cfg.peft = LoRA(target_modules=[%s],\n"
                           "                dim=%d, dropout=0.0%s)\n"
                           "put(cfg.checkpoint, pretrained_checkpoint=given[\"--base\"])\n",
                           modules, c->job.lora.rank, mixed ? ", share_expert_adapters=False" : "");
    if (c->job.narrow_weights &&
        !c->job.recipe->layouts_apart) /* as simulated: one layout is held */
        g_string_append(recipe, "put(cfg.model, disable_parameter_transpose_cache=True)\n");
    rh_launch_write(t, "--base $BASE");
    rh_launch_note(
        t, "set $BASE to the folder of the trained weights: a Megatron checkpoint, or a "
           "Hugging Face one with config.json; $DATA is plain text: for pairs of questions "
           "and answers replace cfg.dataset (megatron.bridge.recipes.common, _peft_common); "
           "alpha of LoRA is Megatron-Bridge's default, 32, which does not affect the time");
}

static void put_file(RhLaunchText *t, const char *recipe)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(imports); i++)
        if (strstr(recipe, imports[i].needed_by))
            g_string_append(text, imports[i].line);
    g_string_append(text, recipe);
    rh_launch_file(t, RECIPE_FILE, text->str);
}

static void put_checkpoints(RhLaunchText *t, GString *recipe)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : NULL;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    if (save) {
        rh_launch_write(t, "--save %s", save);
        g_string_append_printf(
            recipe,
            "put(cfg.checkpoint, save=given[\"--save\"], save_interval=%" G_GINT64_FORMAT ")\n",
            e->save_steps);
    }
    if (load) {
        rh_launch_write(t, "--load %s", load);
        g_string_append(recipe, "put(cfg.checkpoint, load=given[\"--load\"])\n");
    }
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    const RhProblem *c = t->c;
    const RhLayout *l = t->layout;
    if (!check_model(c, error))
        return false;
    g_autoptr(GString) recipe = g_string_new(head);
    Put model = begin_put("model"), train = begin_put("train");
    put_model(&model, c, l);
    put_grid(&model, l);
    put_offload(&model, c->model, l);
    put(&train, "train_iters=int(given[\"--iterations\"])");
    put(&train, "global_batch_size=%" G_GINT64_FORMAT, c->job.global_batch);
    put(&train, "micro_batch_size=%d", l->microbatch);
    end_put(&model, recipe);
    end_put(&train, recipe);
    put_data(recipe, c, l);
    g_string_append_printf(recipe,
                           "put(cfg.dataset, seq_length=%" G_GINT64_FORMAT
                           ", data_path=given[\"--data\"])\n"
                           "put(cfg.tokenizer, tokenizer_type=\"HuggingFaceTokenizer\",\n"
                           "    tokenizer_model=given[\"--tokenizer\"])\n"
                           "cfg.mixed_precision = get_mixed_precision_config(\"%s\")\n",
                           c->job.sequence, precision_of(c));
    put_numbers(recipe, c);
    bool adapts = c->job.lora.rank > 0;
    rh_launch_write(
        t, "--data $DATA --tokenizer $TOKENIZER --iterations $ITERATIONS --lr $LEARNING_RATE");
    if (adapts)
        put_adapters(t, recipe);
    put_checkpoints(t, recipe);
    g_string_append_printf(recipe, "%s(config=cfg, forward_step_func=forward_step)\n",
                           adapts ? "finetune" : "pretrain");
    put_file(t, recipe->str);
    if (l->zero >= 2)
        g_string_append(t->environment, RH_LAUNCH_CUDA_QUEUES);
    else if (l->tp > 1 || l->cp > 1)
        g_string_append(t->environment, "CUDA_DEVICE_MAX_CONNECTIONS=1");
    rh_launch_note(t,
                   "set $TOKENIZER (with the model's vocabulary of %" G_GINT64_FORMAT
                   " tokens), $DATA (in "
                   "Megatron's indexed format), $ITERATIONS and $LEARNING_RATE before you run this",
                   c->model->vocab);
    const RhRopeScaling *rope = &c->model->numerics.rope;
    rh_launch_note_numerics(t, &rh_framework_nemo, rh_rope_is_llama(rope) || is_linear(rope));
    return true;
}

/* --- refused jobs --- */

static bool check(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t chunks = l->pp * l->vpp;
    if (c->job.moments == &rh_adam_moments_8bit || !precision_of(c))
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-Bridge has no such number formats here\n"
                       "help: `dtype=bf16` or its fp8 kin, `moments=bf16`");
    if (l->recomputed_layers_count != 0 || l->stage_layers_count != 0 ||
        c->model->layers_count % chunks != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "a recipe is said for stages of as many layers each: %d chunks do not divide "
            "%d layers, or stages and relayers say otherwise\n"
            "help: plan with `partition=even`, and pp x vpp that divides the layers",
            chunks, c->model->layers_count);
    if (l->overlap == RH_OVERLAP_PAIRS && l->recompute & RH_RECOMPUTE_MIXTURE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-Core recomputes no whole mixture (moe) beside the backward of "
                       "another micro-batch\nhelp: `epoverlap=none`, or other modules");
    if (l->ulysses > 1 && c->model->kinds[0].kv_heads % (l->tp * l->ulysses) != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "Megatron-Core repeats no key-value heads: tp=%d x ulysses=%d does not divide "
            "the %d of %s",
            l->tp, l->ulysses, c->model->kinds[0].kv_heads, c->model->name);
    return true;
}

/* By value; knobs without words are written with the recipe. */
static const char *const schedule_words[] = {
    [RH_PIPELINE_1F1B] = "", [RH_PIPELINE_INTERLEAVED] = ""};
static const char *const overlap_words[] = {
    [RH_OVERLAP_NONE] = "", [RH_OVERLAP_SHARED] = "", [RH_OVERLAP_PAIRS] = ""};
static const char *const tensor_overlap_words[] = {"", ""};
static const char *const order_words[] = {[RH_ORDER_TP_DP_PP] = "", [RH_ORDER_TP_PP_DP] = ""};

#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption nemo_words[] = {
    {.key = "tp"},
    {.key = "pp"},
    {.key = "dp"},
    {.key = "cp"},
    {.key = "kv"},
    {.key = "ulysses"},
    {.key = "ep"},
    {.key = "etp"},
    {.key = "dispatch"},
    {.key = "epoverlap", VALUES(overlap_words)},
    {.key = "vpp"},
    {.key = "mb"},
    {.key = "zero"},
    {.key = "shard"},
    {.key = "outer"},
    {.key = "relayers"},
    {.key = "activations"},
    {.key = "recompute"},
    {.key = "schedule", VALUES(schedule_words)},
    {.key = "sp"},
    {.key = "tpoverlap", VALUES(tensor_overlap_words)},
    {.key = "partition"},
    {.key = "order", VALUES(order_words)},
    {.key = "stages"},
};

const RhFramework rh_framework_nemo = {
    .name = "nemo",
    .title = "Megatron-Bridge (NeMo)",
    .version = "v0.6.0",
    .program = RECIPE_FILE,
    .words = nemo_words,
    .words_count = G_N_ELEMENTS(nemo_words),
    .starts = {{2, false, false, "builds its tensor and stage shares on its GPU", 0,
                "src/megatron/bridge/models/model_provider.py:651"},
               {3, false, false,
                "builds the model on the meta device and fills its shards layer by layer", 0,
                "src/megatron/bridge/models/gpt_provider.py:274"}},
    .features = RH_FEATURE_WINDOW,
    .check = check,
    .write_rest = write_rest,
};
