/* The table of operators. */
#include "workloads/operators/operator.h"

const RhOperator *const rh_operators[] = {
    &rh_attention,
    &rh_attention_alibi,
    &rh_attention_bidirectional,
    &rh_latent_attention,
    &rh_compressed_attention,
    &rh_attention_by_blocks,
    &rh_mamba,
    &rh_delta_net,
    &rh_lightning,
    &rh_mlstm,
    &rh_short_convolution,
    &rh_selective_scan,
    &rh_kimi_delta,
    &rh_attention_factored,
    &rh_attention_beside_mamba,
    &rh_cross_attention,
    &rh_encoder_end,
    &rh_look_up_alike,
    &rh_sounds,
    &rh_parallel,
    &rh_ffn,
    &rh_mixture,
    &rh_norm,
    &rh_positions,
    &rh_embedding,
    &rh_head,
    &rh_score_head,
    &rh_patches,
    &rh_classes,
    &rh_shared_attention,
    &rh_shared_ffn,
    &rh_predict_join,
    &rh_predict_head,
    &rh_attention_gated,
    &rh_sparse_attention,
    &rh_lstm,
    &rh_steps,
    &rh_pictures,
    &rh_place_loss,
    NULL,
};

bool rh_operator_rings(const RhOperator *op)
{
    return op == NULL || op->rings;
}

bool rh_operator_stands_alone(const RhOperator *op)
{
    return op != NULL && op->alone;
}

const char *rh_operator_name(const RhOperator *op)
{
    return op != NULL ? op->name : "none";
}
