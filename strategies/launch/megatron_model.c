/* Writes a model for Megatron-LM: layers, attention, positions, experts, numerics. */
#include "strategies/launch/megatron.h"

#include <math.h>
#include <string.h>

#include "workloads/operators/operator.h"

/* Are two kinds alike except for the network after attention, which is dense in some layers and has
 * experts in others? */
static bool same_attention(const RhLayerKind *a, const RhLayerKind *b)
{
    return a->mixer == b->mixer && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->head_size == b->head_size && a->q_lora_rank == b->q_lora_rank &&
           a->kv_lora_rank == b->kv_lora_rank && a->qk_rope_head_dim == b->qk_rope_head_dim &&
           a->v_head_dim == b->v_head_dim && a->window_tokens == b->window_tokens &&
           a->qk_norm == b->qk_norm && a->qkv_bias == b->qkv_bias && a->o_bias == b->o_bias &&
           a->ffn_bias == b->ffn_bias && a->ffn_gated == b->ffn_gated;
}

bool rh_megatron_check_model(const RhFramework *framework, const RhProblem *c, GError **error)
{
    const RhModel *m = c->model;
    const RhLayerKind *k = &m->kinds[0];
    const RhLayerKind *dense = rh_model_kind_with(m, &rh_ffn),
                      *mixed = rh_model_kind_with(m, &rh_mixture);
    if (m->kinds_count > 2 || !same_attention(k, &m->kinds[m->kinds_count - 1]))
        return rh_launch_fail_model(framework, c, "layers of several kinds", error);
    if ((dense != NULL) + (mixed != NULL) != m->kinds_count)
        return rh_launch_fail_model(framework, c, "its feed-forward layers", error);
    if (k->o_bias != k->ffn_bias || (k->o_bias && !k->qkv_bias))
        return rh_launch_fail_model(
            framework, c, "biases in some linear layers and not in others (but for QKV alone)",
            error);
    return rh_launch_check_numerics(
        framework, c, 1 << RH_ACTIVATION_GELU | 1 << RH_ACTIVATION_RELU2, true, error);
}

static void write_heads(RhLaunchText *t, const RhLayerKind *k)
{
    rh_launch_write(t, "--num-attention-heads %d", k->heads);
    if ((int64_t)k->heads * k->head_size != t->c->model->hidden)
        rh_launch_write(t, "--kv-channels %d", k->head_size);
    if (k->kv_heads != k->heads)
        rh_launch_write(t, "--group-query-attention --num-query-groups %d", k->kv_heads);
}

static void write_latents(RhLaunchText *t, const RhLayerKind *k)
{
    rh_launch_write(t, "--num-attention-heads %d --multi-latent-attention --kv-lora-rank %d",
                    k->heads, k->kv_lora_rank);
    if (k->q_lora_rank > 0)
        rh_launch_write(t, "--q-lora-rank %d", k->q_lora_rank);
    rh_launch_write(t, "--qk-head-dim %d --qk-pos-emb-head-dim %d --v-head-dim %d",
                    k->head_size - k->qk_rope_head_dim, k->qk_rope_head_dim, k->v_head_dim);
}

static void write_attention(RhLaunchText *t, const RhLayerKind *k)
{
    const RhModel *m = t->c->model;
    (k->mixer == &rh_attention ? write_heads : write_latents)(t, k);
    if (k->qk_norm)
        rh_launch_write(t, "--qk-layernorm");
    if (k->window_tokens > 0)
        rh_launch_write(t, "--window-size %d,0", k->window_tokens);
    rh_launch_write(t, "--attention-backend %s",
                    t->c->stack->flash_attention ? "flash" : "unfused");
    rh_launch_write(t, "--attention-dropout %s --hidden-dropout %s",
                    m->attention_dropout ? "0.1" : "0", m->hidden_dropout ? "0.1" : "0");
}

/* Writes YaRN for latent attention, which scales by default: 4,096 original tokens, 32 and 1 are
 * its own values. */
static bool write_yarn(RhLaunchText *t, const RhNumerics *n)
{
    const RhRopeScaling *rope = &n->rope;
    RhLaunchNumber room;
    bool own = rope->original_positions == 4096 && rope->beta_fast == 32 && rope->beta_slow == 1;
    if (rope->type && (strcmp(rope->type, "yarn") != 0 || !own))
        return false;
    if (!rope->type && n->norm_epsilon > 0)
        rh_launch_write(t, "--rope-type rope --no-rope-fusion");
    if (!rope->type)
        return true;
    rh_launch_write(t, "--rope-type yarn --rotary-scaling-factor %s",
                    rh_launch_number(&room, rope->factor));
    if (rope->mscale > 0)
        rh_launch_write(t, "--mscale %s", rh_launch_number(&room, rope->mscale));
    if (rope->mscale_all_dim > 0)
        rh_launch_write(t, "--mscale-all-dim %s", rh_launch_number(&room, rope->mscale_all_dim));
    return true;
}

/* Writes the scaling of positions. The constants of Llama 3.1 are Megatron-LM's own, except the
 * factor (rotary_pos_embedding.py:94). */
static bool write_scaling(RhLaunchText *t, const RhRopeScaling *rope)
{
    RhLaunchNumber room;
    if (rh_rope_is_llama(rope))
        rh_launch_write(t, "--use-rope-scaling --rope-scaling-factor %s",
                        rh_launch_number(&room, rope->factor));
    else if (rope->type && strcmp(rope->type, "linear") == 0 && rope->factor == floor(rope->factor))
        rh_launch_write(t, "--rotary-seq-len-interpolation-factor %.0f", rope->factor);
    else
        return !rope->type;
    return true;
}

static void write_rotation(const RhFramework *framework, RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhNumerics *n = &m->numerics;
    RhLaunchNumber room;
    bool latent = m->kinds[0].mixer != &rh_attention;
    rh_launch_write(t, "--position-embedding-type rope --rotary-base %" G_GINT64_FORMAT,
                    m->rotary_base);
    if (n->rotary_frac < 1)
        rh_launch_write(t, "--rotary-percent %s", rh_launch_number(&room, n->rotary_frac));
    bool written = latent ? write_yarn(t, n) : write_scaling(t, &n->rope);
    rh_launch_note_numerics(t, framework, written);
}

static void write_positions(const RhFramework *framework, RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    rh_launch_write(t,
                    "--seq-length %" G_GINT64_FORMAT " --max-position-embeddings %" G_GINT64_FORMAT,
                    t->c->job.sequence, MAX(m->positions, t->c->job.sequence));
    if (m->position == RH_POSITION_ROTARY)
        write_rotation(framework, t);
    else
        rh_launch_write(t, "--position-embedding-type %s",
                        m->position == RH_POSITION_LEARNED ? "learned_absolute" : "none");
}

/* Writes the layers without experts and with, in their order: "([0]*3+[1]*58)". */
static void write_layers_with_experts(RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    rh_launch_write(t, "--moe-layer-freq '(");
    for (int32_t i = 0, count; i < m->layers_count; i += count) {
        for (count = 1;
             i + count < m->layers_count && m->kind_of_layer[i + count] == m->kind_of_layer[i];
             count++)
            ;
        g_string_append_printf(t->flags, "%s[%d]*%d", i > 0 ? "+" : "",
                               m->kinds[m->kind_of_layer[i]].ffn == &rh_mixture, count);
    }
    g_string_append(t->flags, ")'");
}

static void write_experts(RhLaunchText *t, const RhLayerKind *k)
{
    rh_launch_write(t,
                    "--num-experts %d --moe-router-topk %d --moe-ffn-hidden-size %" G_GINT64_FORMAT
                    " --moe-grouped-gemm --moe-token-dispatcher-type %s",
                    k->experts, k->experts_per_token, k->ffn_width,
                    t->layout->dispatch == RH_DISPATCH_DEEPEP ? "flex" : "alltoall");
    if (t->c->job.load.capacity > 0)
        rh_launch_write(t, "--moe-expert-capacity-factor %g", t->c->job.load.capacity);
    if (k->n_group > 1)
        rh_launch_write(t, "--moe-router-num-groups %d --moe-router-group-topk %d", k->n_group,
                        k->topk_group);
    if (k->shared_width > 0)
        rh_launch_write(t, "--moe-shared-expert-intermediate-size %" G_GINT64_FORMAT,
                        k->shared_width);
    if (t->c->model->kinds_count > 1)
        write_layers_with_experts(t);
    rh_launch_note(
        t, "how the router of the experts scores and balances does not affect the time and is not "
           "set: add --moe-router-score-function, --moe-router-load-balancing-type and "
           "others as the model needs them");
}

static void write_feed_forward(RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhLayerKind *dense = rh_model_kind_with(m, &rh_ffn),
                      *mixed = rh_model_kind_with(m, &rh_mixture);
    rh_launch_write(t, "--ffn-hidden-size %" G_GINT64_FORMAT "%s",
                    dense ? dense->ffn_width : mixed->ffn_width,
                    m->kinds[0].ffn_gated                            ? " --swiglu"
                    : rh_launch_activation(m) == RH_ACTIVATION_RELU2 ? " --squared-relu"
                                                                     : "");
    if (mixed)
        write_experts(t, mixed);
}

void rh_megatron_say_model(const RhFramework *framework, RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhLayerKind *k = &m->kinds[0];
    rh_launch_write(t, "--num-layers %d --hidden-size %" G_GINT64_FORMAT, m->layers_count,
                    m->hidden);
    write_feed_forward(t);
    write_attention(t, k);
    write_positions(framework, t);
    rh_launch_write(t, "--normalization %s", m->norm == RH_NORM_RMS ? "RMSNorm" : "LayerNorm");
    RhLaunchNumber room;
    if (m->numerics.norm_epsilon > 0)
        rh_launch_write(t, "--norm-epsilon %s", rh_launch_number(&room, m->numerics.norm_epsilon));
    if (m->numerics.gain_from_one)
        rh_launch_write(t, "--apply-layernorm-1p");
    if (!k->o_bias)
        rh_launch_write(t, "--disable-bias-linear%s", k->qkv_bias ? " --add-qkv-bias" : "");
    if (!m->tied_embeddings)
        rh_launch_write(t, "--untie-embeddings-and-output-weights");
    if (m->position != RH_POSITION_ROTARY)
        rh_launch_note_numerics(t, framework, false);
}
