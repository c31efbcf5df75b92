#include "workloads/features.h"

#include "workloads/operators/operator.h"

static bool odd_mixer(const RhLayerKind *k)
{
    if (k->mixer == &rh_latent_attention)
        return k->output_gate || k->bidirectional;
    return k->mixer != &rh_attention || k->output_gate || k->gate_per_head || k->k_eq_v ||
           k->bidirectional || k->global_keys || k->v_head_dim > 0;
}

static bool odd_front(const RhModel *m)
{
    return m->embedding_norm || m->token_types > 0 || m->hc_mult > 0 || m->patch_entries > 0 ||
           m->num_mel_bins > 0 || m->relative_bias_entries > 0 || rh_model_sees_pictures(m);
}

static uint32_t features_of(const RhLayerKind *k)
{
    bool mixed = k->ffn == &rh_mixture;
    uint32_t bits = 0;
    bits |= k->cross_width > 0 || k->encodes ? RH_FEATURE_ENCODER : 0;
    bits |= k->borrows || k->mixer == &rh_shared_attention ? RH_FEATURE_SHARED : 0;
    bits |= k->per_layer_input > 0 || k->laurel_rank > 0 || k->index_shared ? RH_FEATURE_BESIDE : 0;
    bits |= k->mixer == &rh_latent_attention ? RH_FEATURE_LATENT : 0;
    bits |= odd_mixer(k) ? RH_FEATURE_MIXER : 0;
    bits |= k->window_tokens > 0 ? RH_FEATURE_WINDOW : 0;
    bits |= k->extra_norms > 0 ? RH_FEATURE_NORMS : 0;
    bits |= !mixed && k->ffn != &rh_ffn ? RH_FEATURE_FFN : 0;
    bits |= mixed && (k->shared_gate || k->moe_latent > 0 || k->ffn_bias || k->vision_experts > 0)
                ? RH_FEATURE_EXPERTS
                : 0;
    return bits;
}

uint32_t rh_model_features(const RhModel *model)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < model->kinds_count; i++)
        bits |= features_of(&model->kinds[i]);
    bits |= model->encoder ? RH_FEATURE_ENCODER : 0;
    bits |= model->embedding > 0 || model->head_width > 0 ? RH_FEATURE_SHARED : 0;
    bits |= rh_model_reads_beside(model) || model->altup_num_inputs > 0 ? RH_FEATURE_BESIDE : 0;
    bits |= model->kinds_count > 1 ? RH_FEATURE_KINDS : 0;
    bits |= odd_front(model) ? RH_FEATURE_FRONT : 0;
    return bits;
}
