/* TorchTitan. Names and rules are those of v0.2.2 (docs/guide/torchtitan-flags.md cites them); a
 * test compares every option written here with the list of its fields,
 * strategies/data/torchtitan-flags.txt. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/torchtitan.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define ONE_FLAVOR_FILE "rehearsed_model.py"

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
    if (recipe != &rh_recipe_bf16 && recipe != &rh_recipe_fp8_current && recipe != &rh_recipe_mxfp8)
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
    write_model(t);
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
    if (rh_weight_bytes(c) > 2 || c->job.narrow_weights || c->job.narrow_attention)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "TorchTitan launches with weights of 4 bytes, or narrow ones, or attention in fp8, "
            "are unknown here\nhelp: bf16, without weights= and attention=");
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
    return check_model(c, error) && check_job(c, error) && check_grid(c, l, error) &&
           rh_torchtitan_check_stages(c, l, error) && rh_torchtitan_check_expert(c, l, error);
}

const RhFramework rh_framework_torchtitan = {
    .name = "torchtitan",
    .title = "TorchTitan",
    .version = "v0.2.2",
    .program = "-m torchtitan.train",
    .rows = rh_torchtitan_rows,
    .rows_count = RH_TORCHTITAN_ROWS,
    .assigned = " ",
    .dashes = "--",
    .usual = "sp=on,recompute=none",
    .costless = rh_torchtitan_costless,
    .finish = rh_torchtitan_finish,
    .starts = {{3, false, false,
                "builds the model on the meta device and fills its share on its GPU", 0,
                "torchtitan/train.py:147"}},
    .check = check,
    .write_rest = write_rest,
};
