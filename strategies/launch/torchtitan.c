/* TorchTitan. Names and rules are those of v0.2.2 (docs/guide/torchtitan-flags.md cites them); a
 * test compares every option written here with the list of its fields,
 * strategies/data/torchtitan-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/framework.h"
#include "strategies/partition.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define ONE_FLAVOR_FILE "rehearsed_model.py"

/* --- knobs --- */

static const char *const schedule_names[RH_PIPELINE_LAST] = {
    [RH_PIPELINE_GPIPE] = "GPipe",
    [RH_PIPELINE_1F1B] = "1F1B",
    [RH_PIPELINE_INTERLEAVED] = "Interleaved1F1B",
    [RH_PIPELINE_ZB_V] = "ZBVZeroBubble",
    [RH_PIPELINE_DUALPIPE_V] = "DualPipeV",
};

/* Do chunks have the layers that generate_llm_fqn_per_model_part of pipeline_parallel.py gives
 * them, with the embedding counted as `first` layers and the head as `last`? */
static bool deals_out(const int32_t *layers, int32_t chunks, int32_t count, int32_t first,
                      int32_t last)
{
    int32_t all = count + first + last, each = all / chunks, more = all % chunks;
    if (each == 0 || first > each || last > each)
        return false;
    for (int32_t g = 0; g < chunks; g++) {
        int32_t held = each + (g < more) - (g == 0 ? first : 0) - (g == chunks - 1 ? last : 0);
        if (held != layers[g])
            return false;
    }
    return true;
}

static bool write_split(RhLaunchText *t, GError **error)
{
    int32_t chunks = t->layout->pp * t->layout->vpp, count = t->c->model->layers_count;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(t->c, t->layout, layers);
    for (int32_t ends = 0; ends <= 2 * (count / chunks); ends++)
        for (int32_t first = 0; first <= ends; first++) {
            int32_t all = count + ends, each = (all + chunks - 1) / chunks;
            if ((all + each - 1) / each != chunks ||
                !deals_out(layers, chunks, count, first, ends - first))
                continue;
            rh_launch_write(t,
                            "--parallelism.pipeline_parallel_layers_per_stage %d "
                            "--parallelism.pipeline_parallel_first_stage_less_layers %d "
                            "--parallelism.pipeline_parallel_last_stage_less_layers %d",
                            each, first, ends - first);
            return true;
        }
    return rh_fail(error, RH_ERROR_USAGE,
                   "TorchTitan deals out layers evenly, embedding and head counted as some; this "
                   "split of %d layers over pp%d vpp%d is not one of these\n"
                   "help: plan with `partition=uniform`, or vpp that divides the layers",
                   count, t->layout->pp, t->layout->vpp);
}

static bool write_pipeline(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    if (l->pp == 1)
        return true;
    if (!schedule_names[l->schedule])
        return rh_fail(error, RH_ERROR_USAGE, "TorchTitan has no schedule=%s",
                       rh_pipeline_kind_name(l->schedule));
    rh_launch_write(t,
                    "--parallelism.pipeline_parallel_degree %d "
                    "--parallelism.pipeline_parallel_schedule %s "
                    "--parallelism.pipeline_parallel_microbatch_size %d",
                    l->pp, schedule_names[l->schedule], l->microbatch);
    return write_split(t, error);
}

/* Writes the micro-batch. A pipeline takes all samples of a replica at once. */
static bool write_microbatch(RhLaunchText *t, GError **error)
{
    (void)error;
    rh_launch_write(t, "--training.local_batch_size %" G_GINT64_FORMAT,
                    t->layout->pp > 1 ? t->c->job.global_batch / t->layout->dp
                                      : (int64_t)t->layout->microbatch);
    return true;
}

static bool write_context(RhLaunchText *t, GError **error)
{
    (void)error;
    if (t->layout->cp > 1)
        rh_launch_write(t,
                        "--parallelism.context_parallel_degree %d "
                        "--parallelism.context_parallel_rotate_method %s",
                        t->layout->cp, t->layout->kv == RH_CONTEXT_RING ? "alltoall" : "allgather");
    return true;
}

static bool write_expert(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    int32_t etp = rh_train_expert_tensor(l);
    if (l->ep == 1)
        return etp == l->tp ||
               rh_fail(error, RH_ERROR_USAGE, "TorchTitan has etp beside ep above 1 alone");
    int32_t shards = l->zero == 0 ? 1 : l->shard > 0 ? l->shard : rh_train_replicas(l);
    if (shards * l->tp % (l->ep * etp) != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "TorchTitan spreads experts over ranks that share out weights: ep=%d, etp=%d "
            "do not divide %d of these x tp=%d",
            l->ep, etp, shards, l->tp);
    rh_launch_write(
        t, "--parallelism.expert_parallel_degree %d --parallelism.expert_tensor_parallel_degree %d",
        l->ep, etp);
    return true;
}

/* Writes ZeRO. FSDP2 shards all three states; it keeps the gathered weights for backward (ZeRO-2's
 * traffic), or not. */
static bool write_zero(RhLaunchText *t, GError **error)
{
    const RhLayout *l = t->layout;
    (void)error;
    int32_t replicas = rh_train_replicas(l), shard = l->shard > 0 ? l->shard : replicas;
    if (l->zero == 0) {
        rh_launch_write(t,
                        "--parallelism.data_parallel_replicate_degree %d "
                        "--parallelism.data_parallel_shard_degree 1",
                        l->dp);
        return true;
    }
    rh_launch_write(t,
                    "--parallelism.data_parallel_replicate_degree %d "
                    "--parallelism.data_parallel_shard_degree %d "
                    "--parallelism.fsdp_reshard_after_forward %s",
                    replicas / shard, shard / l->cp, l->zero == 3 ? "always" : "never");
    return true;
}

static const char *const dispatch_words[] = {"",
                                             "--parallelism.expert_parallel_comm_backend deepep"};
static const char *const recompute_words[] = {
    [RH_RECOMPUTE_NONE] = "--activation_checkpoint.mode none",
    [RH_RECOMPUTE_FULL] = "--activation_checkpoint.mode full"};
static const char *const overlap_words[] = {"", "--parallelism.enable_async_tensor_parallel"};
static const char *const order_words[] = {[RH_ORDER_TP_DP_PP] = ""};

#define VALUES(words) .values = words, .values_count = G_N_ELEMENTS(words)

static const RhLaunchOption torchtitan_words[] = {
    {.key = "tp", .flag = "--parallelism.tensor_parallel_degree"},
    {.key = "pp", .write = write_pipeline}, /* its schedule and split too */
    {.key = "dp"},                          /* follows from ZeRO */
    {.key = "cp", .write = write_context},
    {.key = "kv"}, /* written with cp */
    {.key = "ep", .write = write_expert},
    {.key = "etp"}, /* written with ep */
    {.key = "dispatch", VALUES(dispatch_words)},
    {.key = "vpp"},
    {.key = "mb", .write = write_microbatch},
    {.key = "zero", .write = write_zero},
    {.key = "shard"},
    {.key = "recompute", VALUES(recompute_words)},
    {.key = "schedule"},
    {.key = "sp"}, /* always on with tensor parallelism */
    {.key = "tpoverlap", VALUES(overlap_words)},
    {.key = "order", VALUES(order_words)},
    {.key = "partition"},
    {.key = "stages"},
};

/* --- the model: a flavor of one of the project's models, in a file of its own --- */

static bool check_model(const RhProblem *c, GError **error)
{
    const RhModel *m = c->model;
    const RhLayerKind *k = &m->kinds[0];
    if (m->position != RH_POSITION_ROTARY)
        return rh_launch_fail_model(&rh_framework_torchtitan, c,
                                    "what stands before its first layer", error);
    if (m->norm != RH_NORM_RMS)
        return rh_launch_fail_model(&rh_framework_torchtitan, c, "its norms", error);
    if (k->qkv_bias || k->o_bias || k->ffn_bias)
        return rh_launch_fail_model(&rh_framework_torchtitan, c, "linear layers with biases",
                                    error);
    if (!k->ffn_gated || k->shared_width > 0 || k->router_bias || k->n_group > 1)
        return rh_launch_fail_model(&rh_framework_torchtitan, c, "its feed-forward layers", error);
    return rh_launch_check_numerics(&rh_framework_torchtitan, c, 0, false, error);
}

static bool scales_as_llama(const RhRopeScaling *rope)
{
    return rope->type && strcmp(rope->type, "llama3") == 0 && rope->original_positions > 0 &&
           rope->high_freq_factor > rope->low_freq_factor;
}

/* Is it the project's llama3: heads of hidden / heads, a head of its own, and no experts? */
static bool is_llama(const RhModel *m)
{
    const RhLayerKind *k = &m->kinds[0];
    return !k->qk_norm && !m->tied_embeddings && k->ffn == &rh_ffn &&
           (int64_t)k->heads * k->head_size == m->hidden;
}

/* Text of the scaling. Factor 1 scales nothing; without the text its own 8 would apply. */
static char *llama_scaling(const RhRopeScaling *rope)
{
    RhLaunchNumber factor, low, high;
    if (!scales_as_llama(rope))
        return g_strdup("scaling_factor=1.0");
    return g_strdup_printf(
        "\n        scaling_factor=%s, low_freq_factor=%s, high_freq_factor=%s,\n"
        "        original_max_position_embeddings=%" G_GINT64_FORMAT,
        rh_launch_number(&factor, rope->factor), rh_launch_number(&low, rope->low_freq_factor),
        rh_launch_number(&high, rope->high_freq_factor), rope->original_positions);
}

/* Text of the epsilon: "norm_eps=1e-05, "; "" where the model has none. */
static char *epsilon_of(const RhModel *m)
{
    RhLaunchNumber room;
    return m->numerics.norm_epsilon > 0
               ? g_strdup_printf("norm_eps=%s, ", rh_launch_number(&room, m->numerics.norm_epsilon))
               : g_strdup("");
}

/* Writes a flavor. Its ffn width is two thirds of 4 x hidden, times a factor, rounded up to a
 * multiple: here to the first. */
static char *llama_flavor(const RhModel *m)
{
    const RhLayerKind *k = &m->kinds[0];
    g_autofree char *scaling = llama_scaling(&m->numerics.rope), *epsilon = epsilon_of(m);
    return g_strdup_printf(
        "from torchtitan.models.llama3 import TransformerModelArgs, llama3_args\n"
        "from torchtitan.models.llama3.model.args import RoPEScalingArgs\n\n"
        "# TorchTitan takes the feed-forward width as int(ffn_dim_multiplier x 8/3 x dim), rounded\n"
        "# up to multiple_of: with a multiplier this small it is multiple_of itself, the width of\n"
        "# the model. Leave both as they are.\n"
        "llama3_args[\"rehearsed\"] = TransformerModelArgs(\n"
        "    dim=%" G_GINT64_FORMAT ", n_layers=%d, n_heads=%d, n_kv_heads=%d,\n"
        "    vocab_size=%" G_GINT64_FORMAT ", multiple_of=%" G_GINT64_FORMAT
        ", ffn_dim_multiplier=0.01,\n"
        "    %srope_theta=%" G_GINT64_FORMAT ",\n"
        "    rope_scaling_args=RoPEScalingArgs(%s))\n",
        m->hidden, m->layers_count, k->heads, k->kv_heads, m->vocab, k->ffn_width, epsilon,
        m->rotary_base, scaling);
}

static char *qwen_experts(const RhLayerKind *k)
{
    if (k->ffn != &rh_mixture)
        return g_strdup("");
    return g_strdup_printf(",\n    moe_enabled=True, moe_inter_dim=%" G_GINT64_FORMAT ",\n"
                           "    moe_args=MoEArgs(num_experts=%d, num_shared_experts=0, top_k=%d,\n"
                           "                     score_func=\"softmax\", route_norm=True,\n"
                           "                     score_before_experts=False)",
                           k->ffn_width, k->experts, k->experts_per_token);
}

static char *qwen_flavor(const RhModel *m)
{
    const RhLayerKind *k = &m->kinds[0];
    g_autofree char *experts = qwen_experts(k), *epsilon = epsilon_of(m);
    return g_strdup_printf(
        "from torchtitan.models.moe import MoEArgs\n"
        "from torchtitan.models.qwen3 import Qwen3ModelArgs, qwen3_args\n\n"
        "qwen3_args[\"rehearsed\"] = Qwen3ModelArgs(\n"
        "    dim=%" G_GINT64_FORMAT ", n_layers=%d, n_heads=%d, n_kv_heads=%d, head_dim=%d,\n"
        "    vocab_size=%" G_GINT64_FORMAT ", hidden_dim=%" G_GINT64_FORMAT
        ", rope_theta=%" G_GINT64_FORMAT ",\n"
        "    %sqk_norm=%s, enable_weight_tying=%s%s)\n",
        m->hidden, m->layers_count, k->heads, k->kv_heads, k->head_size, m->vocab, k->ffn_width,
        m->rotary_base, epsilon, k->qk_norm ? "True" : "False",
        m->tied_embeddings ? "True" : "False", experts);
}

static void write_model(RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    bool llama = is_llama(m);
    g_autofree char *flavor = llama ? llama_flavor(m) : qwen_flavor(m);
    rh_launch_file(t, ONE_FLAVOR_FILE, flavor);
    rh_launch_write(t,
                    "--experimental.custom_import rehearsed_model --model.name %s "
                    "--model.flavor rehearsed --model.hf_assets_path $TOKENIZER",
                    llama ? "llama3" : "qwen3");
    rh_launch_note_numerics(t, &rh_framework_torchtitan,
                            llama && scales_as_llama(&m->numerics.rope));
}

/* --- the job --- */

static bool write_formats(RhLaunchText *t, GError **error)
{
    const RhRecipe *recipe = t->c->job.recipe;
    bool experts = t->c->model->kinds[0].ffn == &rh_mixture;
    if (recipe != &rh_recipe_bf16 && experts)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan's %s is of linear layers here, and not of experts",
                       recipe->name);
    if (recipe == &rh_recipe_fp8_current)
        rh_launch_write(t, "--model.converters quantize.linear.float8");
    else if (recipe == &rh_recipe_mxfp8)
        rh_launch_write(t, "--model.converters quantize.linear.mx");
    else if (recipe != &rh_recipe_bf16)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan has no %s\nhelp: `dtype=bf16`, fp8-current or mxfp8",
                       recipe->name);
    rh_launch_write(t, "--training.mixed_precision_param bfloat16 "
                       "--training.mixed_precision_reduce float32 --compile.enable");
    return true;
}

/* Writes the options of checkpoints. An absolute folder replaces --job.dump_folder; existing
 * checkpoints of this run are resumed. */
static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : NULL;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    if (save || load)
        rh_launch_write(t, "--checkpoint.enable");
    if (save)
        rh_launch_write(t, "--checkpoint.folder %s --checkpoint.interval %" G_GINT64_FORMAT, save,
                        e->save_steps);
    else if (load)
        rh_launch_write(t, "--checkpoint.load_only");
    if (load)
        rh_launch_write(
            t, "--checkpoint.initial_load_path %s --checkpoint.no_initial_load_model_only", load);
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    const RhJob *job = &t->c->job;
    write_model(t);
    rh_launch_write(
        t, "--training.seq_len %" G_GINT64_FORMAT " --training.global_batch_size %" G_GINT64_FORMAT,
        job->sequence, job->global_batch);
    if (!write_formats(t, error))
        return false;
    rh_launch_write(t, "--training.dataset c4 --training.dataset_path $DATA --training.steps "
                       "$ITERATIONS --optimizer.lr $LEARNING_RATE");
    write_checkpoints(t);
    g_string_append(t->environment, "PYTORCH_ALLOC_CONF=expandable_segments:True");
    rh_launch_note(
        t,
        "set $TOKENIZER (a folder, with the model's vocabulary of %" G_GINT64_FORMAT " tokens), "
        "$DATA (in the format of C4), $ITERATIONS and $LEARNING_RATE before you run this",
        t->c->model->vocab);
    return true;
}

/* --- refused jobs --- */

static bool check_job(const RhProblem *c, GError **error)
{
    if (c->job.lora.rank > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan v0.2.2 has no adapters (lora.rank=%d)\n"
                       "help: Megatron-Bridge (nemo) trains them, or Transformers (deepspeed)",
                       c->job.lora.rank);
    if (rh_weight_bytes(c) > 2 || c->job.narrow_weights)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan launches with weights of 4 bytes, or narrow ones, are unknown "
                       "here\nhelp: bf16, without weights=");
    if (rh_launch_has_narrow_moments(c) || rh_gradient_bytes(c) != 4)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan keeps moments and gradients in fp32\n"
                       "help: without moments= and job.gradients=");
    return true;
}

static bool check_grid(const RhProblem *c, const RhLayout *l, GError **error)
{
    int64_t divisor = (int64_t)l->tp * 2 * l->cp;
    if (c->job.sequence % divisor != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan needs sequences that tp x 2 cp = %" G_GINT64_FORMAT " divides",
                       divisor);
    if (l->pp > 1 && !is_llama(c->model))
        return rh_fail(error, RH_ERROR_USAGE,
                       "TorchTitan's qwen3, which this model is said by, has no pipeline\n"
                       "help: plan with `pp=1`");
    return true;
}

static bool check(const RhProblem *c, const RhLayout *l, GError **error)
{
    return check_model(c, error) && check_job(c, error) && check_grid(c, l, error);
}

const RhFramework rh_framework_torchtitan = {
    .name = "torchtitan",
    .title = "TorchTitan",
    .version = "v0.2.2",
    .program = "-m torchtitan.train",
    .words = torchtitan_words,
    .words_count = G_N_ELEMENTS(torchtitan_words),
    .starts = {{3, false, "builds the model on the meta device and fills its share on its GPU", 0,
                "torchtitan/train.py:147"}},
    .check = check,
    .write_rest = write_rest,
};
