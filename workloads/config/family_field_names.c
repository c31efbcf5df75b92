/* The names of fields of a configuration, and what a key that sets one may be unless a family says otherwise. */
#include "workloads/config/family_field_names.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/config/field_rows.h"

#define FIELD(field, type, low, high, null_is_none)                                                \
    {                                                                                              \
#field, AT(field), RH_FIELD_##type, low, high, null_is_none                                \
    }
/* FIELD rows: SIZE_FIELD is a size of at least 1, COUNT_FIELD a number that may be 0, the third a
 * number that a file may give as null, which is read as 0. */
#define SIZE_FIELD(field, high)     FIELD(field, SIZE, 1, high, false)
#define COUNT_FIELD(field, high)    FIELD(field, SIZE, 0, high, false)
#define NULLABLE_FIELD(field, high) FIELD(field, SIZE, 0, high, true)
#define FLAG_FIELD(field)           FIELD(field, FLAG, 0, 1, false)
#define RATE_FIELD(field)           FIELD(field, RATE, 0, 1, false)
#define RATIO_FIELD(field)          FIELD(field, RATIO, 1, 1000000, false)

/* All fields, sorted by name for a binary search. */
static const RhConfigField FIELDS[] = {
    FLAG_FIELD(attention.alibi),
    FLAG_FIELD(attention.bidirectional),
    SIZE_FIELD(attention.block_size, TOKENS_MAX),
    RATE_FIELD(attention.dropout),
    COUNT_FIELD(attention.gate_from_q_latent, TOKENS_MAX),
    FLAG_FIELD(attention.gate_per_channel),
    FLAG_FIELD(attention.gate_per_head),
    COUNT_FIELD(attention.global_keys, TOKENS_MAX),
    FLAG_FIELD(attention.grouped_query),
    SIZE_FIELD(attention.head_dim, HEAD_SIZE_MAX),
    FLAG_FIELD(attention.joint_qk_norm),
    COUNT_FIELD(attention.k_eq_v, TOKENS_MAX),
    FLAG_FIELD(attention.local_qk_norm),
    FLAG_FIELD(attention.multi_query),
    SIZE_FIELD(attention.num_attention_heads, HEADS_MAX),
    SIZE_FIELD(attention.num_key_value_heads, HEADS_MAX),
    SIZE_FIELD(attention.num_local_blocks, TOKENS_MAX),
    SIZE_FIELD(attention.num_relative_buckets, TOKENS_MAX),
    FLAG_FIELD(attention.o_bias),
    FLAG_FIELD(attention.output_gate),
    FLAG_FIELD(attention.qk_norm),
    FLAG_FIELD(attention.qkv_bias),
    FLAG_FIELD(attention.relative_bias_per_layer),
    FLAG_FIELD(attention.shared_relative_bias),
    COUNT_FIELD(attention.unscaled_qk_norm, TOKENS_MAX),
    SIZE_FIELD(attention.vert_stride, TOKENS_MAX),
    FLAG_FIELD(embedding_norm),
    SIZE_FIELD(embedding_size, WIDTH_MAX),
    FLAG_FIELD(encoder.block_sparse),
    COUNT_FIELD(encoder.final_norm, TOKENS_MAX),
    COUNT_FIELD(encoder.global_keys, TOKENS_MAX),
    SIZE_FIELD(encoder.head_dim, HEAD_SIZE_MAX),
    SIZE_FIELD(encoder.hidden_size, WIDTH_MAX),
    SIZE_FIELD(encoder.intermediate_size, WIDTH_MAX),
    SIZE_FIELD(encoder.max_position_embeddings, TOKENS_MAX),
    SIZE_FIELD(encoder.num_attention_heads, HEADS_MAX),
    SIZE_FIELD(encoder.num_hidden_layers, LAYERS_MAX),
    SIZE_FIELD(encoder.num_key_value_heads, HEADS_MAX),
    SIZE_FIELD(encoder.num_mel_bins, WIDTH_MAX),
    COUNT_FIELD(encoder.own_embedding, TOKENS_MAX),
    COUNT_FIELD(encoder.present, TOKENS_MAX),
    SIZE_FIELD(encoder.tokens, TOKENS_MAX),
    SIZE_FIELD(encoder.window, TOKENS_MAX),
    COUNT_FIELD(extra_norms, TOKENS_MAX),
    SIZE_FIELD(hc_mult, 64),
    RATE_FIELD(hidden_dropout),
    SIZE_FIELD(hidden_size, WIDTH_MAX),
    SIZE_FIELD(intermediate_size, WIDTH_MAX),
    SIZE_FIELD(lm_head_size, WIDTH_MAX),
    SIZE_FIELD(max_position_embeddings, TOKENS_MAX),
    SIZE_FIELD(mla.compress_rate_heavy, TOKENS_MAX),
    SIZE_FIELD(mla.compress_rate_sparse, TOKENS_MAX),
    COUNT_FIELD(mla.compress_ratio, TOKENS_MAX),
    SIZE_FIELD(mla.index_head_dim, HEAD_SIZE_MAX),
    SIZE_FIELD(mla.index_n_heads, HEADS_MAX),
    COUNT_FIELD(mla.index_shared, TOKENS_MAX),
    SIZE_FIELD(mla.index_topk, TOKENS_MAX),
    SIZE_FIELD(mla.kv_lora_rank, WIDTH_MAX),
    SIZE_FIELD(mla.o_groups, HEADS_MAX),
    SIZE_FIELD(mla.o_lora_rank, WIDTH_MAX),
    NULLABLE_FIELD(mla.q_lora_rank, WIDTH_MAX),
    SIZE_FIELD(mla.qk_nope_head_dim, HEAD_SIZE_MAX),
    SIZE_FIELD(mla.qk_rope_head_dim, HEAD_SIZE_MAX),
    SIZE_FIELD(mla.v_head_dim, HEAD_SIZE_MAX),
    FLAG_FIELD(mlp.auto_adjust),
    FLAG_FIELD(mlp.bias),
    SIZE_FIELD(mlp.dim_divisor, WIDTH_MAX),
    SIZE_FIELD(mlp.gate_up_size, 2097152),
    FLAG_FIELD(mlp.gated),
    SIZE_FIELD(mlp.multiple_of, 64),
    RATIO_FIELD(mlp.proj_factor),
    COUNT_FIELD(moe.decoder_interval, LAYERS_MAX),
    SIZE_FIELD(moe.dense_intermediate_size, WIDTH_MAX),
    COUNT_FIELD(moe.encoder_interval, LAYERS_MAX),
    COUNT_FIELD(moe.first_k_dense_replace, LAYERS_MAX),
    SIZE_FIELD(moe.intermediate_size, WIDTH_MAX),
    COUNT_FIELD(moe.last_layer, TOKENS_MAX),
    FLAG_FIELD(moe.latent_norm),
    COUNT_FIELD(moe.latent_size, WIDTH_MAX),
    SIZE_FIELD(moe.layer_interval, LAYERS_MAX),
    COUNT_FIELD(moe.layer_offset, LAYERS_MAX),
    COUNT_FIELD(moe.n_group, EXPERTS_MAX),
    COUNT_FIELD(moe.n_shared_experts, EXPERTS_MAX),
    SIZE_FIELD(moe.num_experts, EXPERTS_MAX),
    SIZE_FIELD(moe.num_experts_per_tok, EXPERTS_MAX),
    COUNT_FIELD(moe.num_sparse_decoder_layers, LAYERS_MAX),
    COUNT_FIELD(moe.num_sparse_encoder_layers, LAYERS_MAX),
    COUNT_FIELD(moe.num_vision_experts, TOKENS_MAX),
    FLAG_FIELD(moe.router_bias),
    COUNT_FIELD(moe.shared_gate, TOKENS_MAX),
    COUNT_FIELD(moe.shared_intermediate_size, WIDTH_MAX),
    COUNT_FIELD(moe.topk_group, EXPERTS_MAX),
    SIZE_FIELD(moe.topk_with_zero, EXPERTS_MAX),
    COUNT_FIELD(moe.vision_intermediate_size, TOKENS_MAX),
    COUNT_FIELD(moe.zero_expert_num, EXPERTS_MAX),
    COUNT_FIELD(n_langs, VOCAB_MAX),
    SIZE_FIELD(num_hidden_layers, LAYERS_MAX),
    SIZE_FIELD(num_layer_pairs, 2048),
    COUNT_FIELD(num_nextn_predict_layers, TOKENS_MAX),
    FLAG_FIELD(parallel_residual),
    SIZE_FIELD(per_layer.altup_num_inputs, 64),
    COUNT_FIELD(per_layer.hidden_size, WIDTH_MAX),
    SIZE_FIELD(per_layer.laurel_rank, WIDTH_MAX),
    SIZE_FIELD(per_layer.vocab_size, VOCAB_MAX),
    SIZE_FIELD(rope_theta, BASE_MAX),
    SIZE_FIELD(sharing.adapter_rank, WIDTH_MAX),
    FLAG_FIELD(sharing.attention_adapter),
    SIZE_FIELD(sharing.cla_share_factor, LAYERS_MAX),
    FLAG_FIELD(sharing.double_wide_mlp),
    SIZE_FIELD(sharing.inner_group_num, 1),
    SIZE_FIELD(sharing.num_hidden_groups, LAYERS_MAX),
    COUNT_FIELD(sharing.num_kv_shared_layers, LAYERS_MAX),
    SIZE_FIELD(sharing.num_mem_blocks, LAYERS_MAX),
    SIZE_FIELD(sharing.total_ut_steps, 64),
    FLAG_FIELD(sharing.use_cla),
    SIZE_FIELD(ssm.chunk_size, TOKENS_MAX),
    FLAG_FIELD(ssm.conv_bias),
    SIZE_FIELD(ssm.conv_kernel, HEAD_SIZE_MAX),
    COUNT_FIELD(ssm.dt_bc_norms, TOKENS_MAX),
    SIZE_FIELD(ssm.dt_rank, WIDTH_MAX),
    SIZE_FIELD(ssm.expand, 64),
    FLAG_FIELD(ssm.full_rank_gate),
    COUNT_FIELD(ssm.gates_per_head, TOKENS_MAX),
    SIZE_FIELD(ssm.head_dim, HEAD_SIZE_MAX),
    SIZE_FIELD(ssm.n_groups, HEADS_MAX),
    SIZE_FIELD(ssm.num_heads, HEADS_MAX),
    FLAG_FIELD(ssm.proj_bias),
    RATIO_FIELD(ssm.qk_dim_factor),
    SIZE_FIELD(ssm.state_size, HEAD_SIZE_MAX),
    RATIO_FIELD(ssm.v_dim_factor),
    FLAG_FIELD(tie_word_embeddings),
    COUNT_FIELD(type_vocab_size, VOCAB_MAX),
    FLAG_FIELD(use_lang_emb),
    COUNT_FIELD(vision.cross_attention, TOKENS_MAX),
    COUNT_FIELD(vision.cross_qk_norm, TOKENS_MAX),
    SIZE_FIELD(vision.height, WIDTH_MAX),
    SIZE_FIELD(vision.image_size, TOKENS_MAX),
    FLAG_FIELD(vision.judges_places),
    SIZE_FIELD(vision.num_channels, WIDTH_MAX),
    COUNT_FIELD(vision.num_register_tokens, TOKENS_MAX),
    SIZE_FIELD(vision.patch_size, TOKENS_MAX),
    SIZE_FIELD(vision.width, WIDTH_MAX),
    SIZE_FIELD(vocab_size, VOCAB_MAX),
    COUNT_FIELD(window.first_layer, LAYERS_MAX),
    SIZE_FIELD(window.full_interval, LAYERS_MAX),
    COUNT_FIELD(window.full_offset, LAYERS_MAX),
    COUNT_FIELD(window.full_position, TOKENS_MAX),
    SIZE_FIELD(window.global_head_dim, HEAD_SIZE_MAX),
    FLAG_FIELD(window.global_k_eq_v),
    SIZE_FIELD(window.global_key_value_heads, HEADS_MAX),
    SIZE_FIELD(window.head_dim, HEAD_SIZE_MAX),
    FLAG_FIELD(window.in_blocks),
    SIZE_FIELD(window.local_layers, LAYERS_MAX),
    SIZE_FIELD(window.num_attention_heads, HEADS_MAX),
    SIZE_FIELD(window.num_key_value_heads, HEADS_MAX),
    NULLABLE_FIELD(window.size, TOKENS_MAX),
    FLAG_FIELD(window.used),
    SIZE_FIELD(window.v_head_dim, HEAD_SIZE_MAX),
};

static int compare(const void *name, const void *field)
{
    return strcmp(name, ((const RhConfigField *)field)->name);
}

const RhConfigField *rh_config_field_named(const char *name)
{
    return bsearch(name, FIELDS, G_N_ELEMENTS(FIELDS), sizeof *FIELDS, compare);
}

static const char *const *collect_names(void)
{
    const char **names = g_new0(const char *, G_N_ELEMENTS(FIELDS) + 1);
    for (size_t i = 0; i < G_N_ELEMENTS(FIELDS); i++)
        names[i] = FIELDS[i].name;
    return names;
}

const char *const *rh_config_field_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, collect_names());
    return names;
}
