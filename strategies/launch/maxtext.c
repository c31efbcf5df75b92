/* MaxText: one process per node, which takes its configuration as NAME=VALUE over its own base.yml.
 * Names and rules are those of v0.2.4 (docs/guide/maxtext-flags.md cites them); a test compares
 * every name written here with strategies/data/maxtext-flags.txt. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/launch/framework.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

static bool on_tpus(const RhProblem *c)
{
    return g_str_has_prefix(c->platform->device->name, "tpu-");
}

/* --- the mesh: each axis a product of ranks inside a slice (ici) and among slices (dcn) --- */

typedef enum {
    AXIS_TENSOR, /* innermost, as ranks are numbered */
    AXIS_CONTEXT,
    AXIS_EXPERT,
    AXIS_FSDP,
    AXIS_DATA,
    AXIS_STAGE,
    AXIS_LAST
} Axis;
static const char *const axis_names[] = {"tensor_sequence", "context", "expert", "fsdp", "data",
                                         "pipeline"};
typedef struct {
    int32_t inside[AXIS_LAST], among[AXIS_LAST];
} Mesh;

/* Ranks along each axis. Weights are sharded over fsdp, context and expert together. */
static void degrees_of(const RhLayout *l, int32_t *degrees)
{
    int32_t replicas = rh_train_replicas(l), share = l->cp * l->ep;
    int32_t held = l->zero < 3 ? 1 : (l->shard > 0 ? l->shard : replicas) / share;
    const int32_t all[AXIS_LAST] = {l->tp, l->cp, l->ep, held, replicas / share / held, l->pp};
    memcpy(degrees, all, sizeof all);
}

/* Divides the axes over slices. The GPUs of a node are a slice (its devices' slice_index); TPUs are
 * one all together. */
static bool mesh_of(const RhProblem *c, const RhLayout *l, Mesh *out, GError **error)
{
    int32_t degrees[AXIS_LAST];
    degrees_of(l, degrees);
    int32_t slice = on_tpus(c) ? c->job.gpus : MIN(c->platform->gpus_per_node, c->job.gpus);
    int32_t rest = slice;
    for (int a = 0; a < AXIS_LAST; a++) {
        if (rest % degrees[a] != 0 && degrees[a] % rest != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "MaxText parts every axis between a node's %d GPUs and the nodes: of "
                           "%s=%d neither divides the %d that are left\n"
                           "help: plan with degrees that divide %d",
                           slice, axis_names[a], degrees[a], rest, slice);
        out->inside[a] = MIN(rest, degrees[a]);
        out->among[a] = degrees[a] / out->inside[a];
        rest /= out->inside[a];
    }
    return true;
}

static bool write_mesh(RhLaunchText *t, GError **error)
{
    Mesh mesh;
    if (!mesh_of(t->c, t->layout, &mesh, error))
        return false;
    for (int a = AXIS_LAST - 1; a >= 0; a--) {
        bool ours = a == AXIS_FSDP || a == AXIS_DATA; /* one axis is -1, "the rest", by default */
        if (mesh.inside[a] > 1 || ours)
            rh_launch_write(t, "ici_%s_parallelism=%d", axis_names[a], mesh.inside[a]);
        if (mesh.among[a] > 1 || ours)
            rh_launch_write(t, "dcn_%s_parallelism=%d", axis_names[a], mesh.among[a]);
    }
    return true;
}

/* --- the layout --- */

static bool write_context(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    (void)error;
    if (l->cp == 1)
        return true;
    rh_launch_write(t, "context_parallel_strategy=%s",
                    l->ulysses > 1             ? "ulysses"
                    : l->kv == RH_CONTEXT_RING ? "ring"
                                               : "all_gather");
    if (l->ulysses > 1)
        rh_launch_write(t, "context_parallel_load_balance=False");
    if (on_tpus(t->c) && (l->ulysses > 1 || l->kv == RH_CONTEXT_RING))
        rh_launch_write(t, "use_tokamax_splash=True");
    return true;
}

/* Writes a number with so few digits that `devices` times it, truncated to an integer as in
 * MaxText, is `samples`. */
static void write_batch(RhLaunchText *t, int64_t samples, int32_t devices)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE], format[8];
    double share = (double)samples / devices;
    for (int digits = 1; digits <= 18; digits++) {
        double value = digits <= 17 ? share : nextafter(share, (double)INFINITY);
        g_snprintf(format, sizeof format, "%%.%dg", MIN(digits, 17));
        g_ascii_formatd(text, sizeof text, format, value);
        if ((int64_t)(devices * g_ascii_strtod(text, NULL)) == samples)
            break;
    }
    rh_launch_write(t, "per_device_batch_size=%s", text);
}

/* Writes the micro-batch. A pipeline takes all samples at once. */
static bool write_microbatch(RhLaunchText *t, GError **error)
{
    const RhProblem *c = t->c;
    const RhLayout *l = t->layout;
    int64_t rounds = rh_train_microbatches(c, l);
    (void)error;
    write_batch(t, l->pp > 1 ? c->job.global_batch : (int64_t)l->microbatch * l->dp, c->job.gpus);
    if (l->pp > 1)
        rh_launch_write(t,
                        "num_pipeline_microbatches=%" G_GINT64_FORMAT
                        " num_layers_per_pipeline_stage=%d num_pipeline_repeats=1",
                        rounds, c->model->layers_count / l->pp);
    else if (rounds > 1)
        rh_launch_write(t, "gradient_accumulation_steps=%" G_GINT64_FORMAT, rounds);
    return true;
}

static bool write_zero(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->zero == 1)
        rh_launch_write(t, "shard_optimizer_over_data=True");
    return true;
}

static bool write_recompute(RhLaunchText *t, GError **error)
{
    static const struct {
        uint32_t modules;
        const char *policy;
    } policies[] = {
        {RH_RECOMPUTE_NONE, "none"},
        {RH_RECOMPUTE_FULL, "full"},
        {RH_RECOMPUTE_NORM, "minimal_with_context"},
        {RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE, "minimal"},
        {RH_RECOMPUTE_NORM | RH_RECOMPUTE_FFN, "save_dot_with_context_except_mlp"},
        {RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE | RH_RECOMPUTE_FFN, "save_dot_except_mlp"}};
    (void)error;
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
        if ((uint32_t)t->layout->recompute == policies[i].modules)
            rh_launch_write(t, "remat_policy=%s", policies[i].policy);
    if (t->layout->recompute == RH_RECOMPUTE_NONE) /* scanned layers are always checkpointed */
        rh_launch_write(t, "scan_layers=False");
    return true;
}

static const char *const order_words[] = {[RH_ORDER_TP_DP_PP] = ""};
static const char *const schedule_words[] = {[RH_PIPELINE_GPIPE] = "", [RH_PIPELINE_1F1B] = ""};
#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption maxtext_words[] = {
    {.key = "tp", .write = write_mesh}, /* and all other axes */
    {.key = "pp"},
    {.key = "dp"},
    {.key = "cp", .write = write_context},
    {.key = "kv"},
    {.key = "ulysses"},
    {.key = "ep"},
    {.key = "mb", .write = write_microbatch},
    {.key = "zero", .write = write_zero},
    {.key = "shard"},
    {.key = "recompute", .write = write_recompute},
    {.key = "schedule", VALUES(schedule_words)}, /* 1f1b: only without a pipeline */
    {.key = "sp"},
    {.key = "order", VALUES(order_words)},
};

/* --- the model --- */

static bool check_model(const RhProblem *c, GError **error)
{
    const RhModel *m = c->model;
    const RhLayerKind *k = &m->kinds[0];
    bool mixed = k->ffn == &rh_mixture;
    const char *odd = m->position != RH_POSITION_ROTARY ? "what stands before its first layer"
                      : m->norm != RH_NORM_RMS          ? "its norms"
                      : m->attention_dropout || m->hidden_dropout ? "dropout"
                      : k->o_bias || k->ffn_bias || (k->qkv_bias && (k->qk_norm || mixed))
                          ? "biases in linear layers (but for a qwen2's QKV)"
                      : !k->ffn_gated || k->shared_width > 0 || k->router_bias || k->n_group > 1
                          ? "its feed-forward layers"
                          : NULL;
    return odd ? rh_launch_fail_model(&rh_framework_maxtext, c, odd, error)
               : rh_launch_check_numerics(&rh_framework_maxtext, c, 0, false, error);
}

static void write_experts(RhLaunchText *t, const RhLayerKind *k)
{
    double capacity = t->c->job.load.capacity;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    rh_launch_write(t,
                    "base_moe_mlp_dim=%" G_GINT64_FORMAT " num_experts=%d num_experts_per_tok=%d "
                    "megablox=False sparse_matmul=%s",
                    k->ffn_width, k->experts, k->experts_per_token,
                    capacity > 0 ? "False" : "True");
    if (capacity > 0)
        rh_launch_write(t, "capacity_factor=%s",
                        g_ascii_formatd(text, sizeof text, "%g", capacity));
}

/* Writes the scaling of positions. MaxText's llama3.1 has the factor 8 among its constants
 * (embeddings.py:648). */
static bool write_scaling(RhLaunchText *t)
{
    const RhRopeScaling *rope = &t->c->model->numerics.rope;
    RhLaunchNumber room;
    if (rh_rope_is_llama(rope) && rope->factor == 8)
        rh_launch_write(t, "rope_type=llama3.1 rope_use_scale=True");
    else if (rope->type && strcmp(rope->type, "linear") == 0)
        rh_launch_write(t, "rope_type=default rope_linear_scaling_factor=%s",
                        rh_launch_number(&room, rope->factor));
    else
        rh_launch_write(t, "rope_type=default");
    return rope->type &&
           (rh_rope_is_llama(rope) ? rope->factor == 8 : strcmp(rope->type, "linear") == 0);
}

static void write_model(RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhLayerKind *k = &m->kinds[0];
    bool mixed = k->ffn == &rh_mixture;
    rh_launch_write(t,
                    "decoder_block=%s base_emb_dim=%" G_GINT64_FORMAT
                    " base_num_query_heads=%d base_num_kv_heads=%d base_mlp_dim=%" G_GINT64_FORMAT
                    " base_num_decoder_layers=%d head_dim=%d vocab_size=%" G_GINT64_FORMAT
                    " rope_max_timescale=%" G_GINT64_FORMAT,
                    k->qk_norm    ? mixed ? "qwen3_moe" : "qwen3"
                    : mixed       ? "mixtral"
                    : k->qkv_bias ? "qwen2"
                                  : "llama2",
                    m->hidden, k->heads, k->kv_heads, k->ffn_width, m->layers_count, k->head_size,
                    m->vocab, m->rotary_base);
    RhLaunchNumber room;
    if (m->numerics.norm_epsilon > 0)
        rh_launch_write(t, "normalization_layer_epsilon=%s",
                        rh_launch_number(&room, m->numerics.norm_epsilon));
    rh_launch_note_numerics(t, &rh_framework_maxtext, write_scaling(t));
    if (k->qk_norm)
        rh_launch_write(t, "use_qk_norm=True");
    if (k->qkv_bias)
        rh_launch_write(t, "attention_bias=True");
    if (m->tied_embeddings)
        rh_launch_write(t, "logits_via_embedding=True");
    if (mixed)
        write_experts(t, k);
}

/* --- the job --- */

/* Word for quantization by Transformer Engine; "" for none, NULL for a format that has no word. */
static const char *format_of(const RhRecipe *recipe)
{
    static const struct {
        const RhRecipe *recipe;
        const char *name;
    } names[] = {{&rh_recipe_bf16, ""},
                 {&rh_recipe_fp8, "te_fp8_delayedscaling"},
                 {&rh_recipe_fp8_current, "te_fp8_currentscaling"},
                 {&rh_recipe_mxfp8, "te_mxfp8"},
                 {&rh_recipe_nvfp4, "te_nvfp4"}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (recipe == names[i].recipe)
            return names[i].name;
    return NULL;
}

static void write_start(RhLaunchText *t)
{
    if (on_tpus(t->c)) {
        rh_launch_note(
            t, "on TPUs, start this once per host: JAX finds the chips of a host by itself");
        return;
    }
    g_string_append(t->environment, "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true "
                                    "XLA_PYTHON_CLIENT_MEM_FRACTION=0.94");
    int32_t nodes = t->c->job.gpus / t->c->platform->gpus_per_node;
    if (nodes > 1)
        g_string_append_printf(t->environment,
                               " JAX_COORDINATOR_IP=$MASTER_ADDR"
                               " JAX_COORDINATOR_PORT=${MASTER_PORT:-29500} NNODES=%d",
                               nodes);
}

/* Writes the options of checkpoints, which are in base_output_directory/run_name/checkpoints. */
static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    rh_launch_write(t, "enable_checkpointing=%s", e->save || e->load ? "True" : "False");
    if (e->save)
        rh_launch_write(t, "checkpoint_period=%" G_GINT64_FORMAT, e->save_steps);
    if (load)
        rh_launch_write(t, "load_full_state_path=%s", load);
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    const RhProblem *c = t->c;
    const char *format = format_of(c->job.recipe);
    (void)error;
    write_start(t);
    write_model(t);
    rh_launch_write(
        t, "max_target_length=%" G_GINT64_FORMAT " packing=False hardware=%s attention=%s",
        c->job.sequence, on_tpus(c) ? "tpu" : "gpu", on_tpus(c) ? "flash" : "cudnn_flash_te");
    rh_launch_write(t, "dtype=bfloat16 weight_dtype=float32 grad_dtype=%s",
                    rh_gradient_bytes(c) == 4 ? "float32" : "bfloat16");
    if (*format)
        rh_launch_write(t, "quantization=%s", format);
    g_autofree char *folder = t->extras->save ? g_shell_quote(t->extras->save) : NULL;
    rh_launch_write(t,
                    "dataset_type=hf hf_path=$DATA tokenizer_type=huggingface "
                    "tokenizer_path=$TOKENIZER steps=$ITERATIONS learning_rate=$LEARNING_RATE "
                    "run_name=rehearsed base_output_directory=%s",
                    folder ? folder : "$OUTPUT");
    rh_launch_note(
        t,
        "set $TOKENIZER (with the model's vocabulary of %" G_GINT64_FORMAT " tokens), $DATA (a "
        "Hugging Face data set), $ITERATIONS, $LEARNING_RATE and $OUTPUT before you run this",
        c->model->vocab);
    write_checkpoints(t);
    return true;
}

/* --- refused jobs --- */

static bool check_formats(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhRecipe *recipe = c->job.recipe;
    if (!format_of(recipe) || (recipe != &rh_recipe_bf16 && on_tpus(c)))
        return rh_fail(error, RH_ERROR_USAGE, "MaxText has no %s here\nhelp: `dtype=bf16`",
                       recipe->name);
    if (recipe != &rh_recipe_bf16 && c->model->kinds[0].ffn == &rh_mixture)
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText's %s is of linear layers, and not of experts\n"
                       "note: src/maxtext/layers/quantizations.py:1159\nhelp: `dtype=bf16`",
                       recipe->name);
    if (recipe == &rh_recipe_fp8 && l->pp == 1 && rh_train_microbatches(c, l) > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText accumulates no gradients with scales of the past (fp8)\n"
                       "note: src/maxtext/configs/types.py:3880\n"
                       "help: `dtype=fp8-current`, or a micro-batch of all samples of a replica");
    if (rh_weight_bytes(c) > 2 || c->job.narrow_weights || c->job.narrow_attention ||
        rh_launch_has_narrow_moments(c))
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText launches with weights, moments or attention in other formats are "
                       "unknown here\nhelp: without weights=, moments= and attention=");
    return true;
}

/* Checks that arrays can be divided evenly (jax.sharding.NamedSharding). */
static bool check_cuts(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t degrees[AXIS_LAST];
    degrees_of(l, degrees);
    int64_t shards = (int64_t)degrees[AXIS_FSDP] * l->cp * l->ep, tokens = (int64_t)l->tp * l->cp;
    if (l->zero == 3 && c->model->hidden % shards != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText cuts weights along the width: %" G_GINT64_FORMAT
                       " shares do not divide %" G_GINT64_FORMAT "\n"
                       "note: src/maxtext/configs/base.yml:605\nhelp: plan with `shard=8`",
                       shards, c->model->hidden);
    if (c->job.sequence % tokens != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText cuts sequences: tp x cp = %" G_GINT64_FORMAT
                       " does not divide %" G_GINT64_FORMAT
                       " tokens\nnote: src/maxtext/configs/base.yml:597",
                       tokens, c->job.sequence);
    return true;
}

static bool check(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (c->job.lora.rank > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "MaxText trains adapters by a program of its own, which is not given here\n"
                       "help: Megatron-Bridge (nemo) trains them, or Transformers (deepspeed)");
    return check_model(c, error) && check_formats(c, l, error) && check_cuts(c, l, error);
}

const RhFramework rh_framework_maxtext = {
    .name = "maxtext",
    .title = "MaxText",
    .version = "v0.2.4",
    .program = "python3 -m maxtext.trainers.pre_train.train",
    .starts_itself = true,
    .words = maxtext_words,
    .words_count = G_N_ELEMENTS(maxtext_words),
    .starts = {{3, false, false, "makes arrays in their shards", 0,
                "src/maxtext/utils/maxtext_utils.py"}},
    .check = check,
    .write_rest = write_rest,
};
