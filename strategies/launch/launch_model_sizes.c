/* Sizes of a model, as the settings of frameworks say them. */
#include <string.h>

#include "strategies/launch/framework.h"
#include "workloads/operators/operator.h"

static void set_experts(const RhModel *m, const RhLayerKind *mixed, int64_t *s)
{
    s[RH_SIZE_EXPERTS] = mixed->experts;
    s[RH_SIZE_ASKED] = mixed->experts_per_token;
    s[RH_SIZE_EXPERT_FFN] = mixed->ffn_width;
    s[RH_SIZE_SHARED_FFN] = mixed->shared_width;
    s[RH_SIZE_DENSE_LAYERS] = 0;
    while (s[RH_SIZE_DENSE_LAYERS] < m->layers_count &&
           m->kinds[m->kind_of_layer[s[RH_SIZE_DENSE_LAYERS]]].ffn != &rh_mixture)
        s[RH_SIZE_DENSE_LAYERS]++;
}

static void set_attention(const RhLayerKind *k, int64_t *s)
{
    bool latent = k->kv_lora_rank > 0;
    s[RH_SIZE_HEADS] = k->heads;
    s[RH_SIZE_GROUPS] = k->kv_heads;
    s[RH_SIZE_HEAD] = k->head_size;
    s[RH_SIZE_WINDOW] = k->window_tokens;
    s[RH_SIZE_LATENT] = latent;
    if (!latent)
        return;
    s[RH_SIZE_GROUPS] = k->heads;
    s[RH_SIZE_Q_LATENT] = k->q_lora_rank;
    s[RH_SIZE_KV_LATENT] = k->kv_lora_rank;
    s[RH_SIZE_NOPE] = k->head_size - k->qk_rope_head_dim;
    s[RH_SIZE_ROPE] = k->qk_rope_head_dim;
    s[RH_SIZE_VALUE] = k->v_head_dim;
}

void rh_launch_sizes_of(const RhModel *m, int64_t s[RH_SIZE_LAST])
{
    const RhLayerKind *k = rh_model_attention_kind(m);
    const RhLayerKind *dense = rh_model_kind_with(m, &rh_ffn),
                      *mixed = rh_model_kind_with(m, &rh_mixture);
    for (int i = 0; i < RH_SIZE_LAST; i++)
        s[i] = -1;
    s[RH_SIZE_LAYERS] = m->layers_count;
    s[RH_SIZE_HIDDEN] = m->hidden;
    s[RH_SIZE_VOCAB] = m->vocab;
    s[RH_SIZE_POSITIONS] = m->positions;
    s[RH_SIZE_ROTARY_BASE] = m->rotary_base;
    s[RH_SIZE_FFN] = dense ? dense->ffn_width : mixed ? mixed->ffn_width : -1;
    set_attention(k, s);
    if (mixed)
        set_experts(m, mixed, s);
    s[RH_SIZE_GATED] = k->ffn_gated;
    s[RH_SIZE_RMS] = m->norm == RH_NORM_RMS;
    s[RH_SIZE_ROTARY] = m->position == RH_POSITION_ROTARY;
    s[RH_SIZE_TIED] = m->tied_embeddings;
    s[RH_SIZE_BIASED] = k->o_bias;
    s[RH_SIZE_QKV_BIASED] = k->qkv_bias;
    s[RH_SIZE_QK_NORM] = k->qk_norm;
}
