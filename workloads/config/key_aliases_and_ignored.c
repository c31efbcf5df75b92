/* Tables of keys of published files that no family reads as its own: aliases, keys without effect
 * here, and keys that say the model is of another kind. */
#include <glib.h>

#include "workloads/config/field_rows.h"

/* Aliases: each line is one figure under all its names. A file without the first name may use
 * another. "a.b" is b inside a. */
static const char *const ALIASES[][10] = {
    {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "num_blocks"},
    {"hidden_size", "n_embd", "n_embed", "d_model", "model_dim", "dim"},
    {"num_attention_heads", "n_head", "n_heads", "num_heads", "num_query_heads", "attention_heads"},
    {"num_attention_heads_per_layer", "num_attention_heads"},
    {"num_key_value_heads", "n_head_kv", "num_kv_heads", "n_kv_heads", "num_query_groups",
     "attn_config.kv_n_heads", "multi_query_group_num"},
    {"head_dim", "attention_head_dim", "kv_channels", "head_size", "d_kv"},
    {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_ff", "inner_dim",
     "hidden_dim", "block_ff_dim"},
    {"tie_word_embeddings", "tie_embedding"},
    {"vocab_size", "padded_vocab_size", "n_vocab"},
    {"max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length",
     "n_ctx", "max_seq_length"},
    {"rope_theta", "rope_parameters.rope_theta", "rope_parameters.full_attention.rope_theta",
     "rotary_emb_base", "rope_parameters.main.rope_theta"},
    {"sliding_window", "sliding_window_size", "attention_window_size", "local_attention",
     "window_size"},
    {"attention_dropout", "attn_pdrop", "attention_probs_dropout_prob", "attn_config.attn_pdrop"},
    {"hidden_dropout", "resid_pdrop", "hidden_dropout_prob", "residual_dropout", "dropout"},
    {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "n_experts",
     "num_moe_experts", "moe_num_primary_experts"},
    {"num_experts_per_tok", "top_k_experts", "num_experts_per_token", "moe_top_k", "moe_topk",
     "num_selected_experts", "moe_k", "experts_top_k", "moe_num_active_primary_experts"},
    {"moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size",
     "expert_ffn_hidden_size"},
    {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
     "shared_intermediate_size"},
    {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"},
    {"n_group", "num_expert_group"},
    {"first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"},
    {"ssm_state_size", "mamba_d_state", "mamba_state_dim", "state_size"},
    {"mamba_num_heads", "mamba_n_heads"},
    {"mamba_head_dim", "mamba_d_head"},
    {"n_groups", "mamba_n_groups", "mamba_num_groups"},
    {"conv_kernel", "mamba_d_conv", "conv_kernel_size", "conv_dimension"},
    {"mamba_expand", "expansion_factor"},
    {"adapter_rank", "lora_rank"},
    {"use_shared_attention_adapter", "use_shared_attention_lora"},
    {"chunk_size", "mamba_chunk_size"},
};

/* Ids, initial values, inference defaults and numerics: no effect on what a training step costs.
 * Listed so that a key near one of ours can be told from a typing error. */
static const char *const IGNORED[] = {
    "_name_or_path",
    "activation_function",
    "activation_dropout",
    "architectures",
    "attn_implementation",
    "aux_loss_alpha",
    "auto_map",
    "bos_token_id",
    "classifier_dropout",
    "dtype",
    "embd_pdrop",
    "embed_dropout",
    "eos_token_id",
    "ep_size",
    "head_dtype",
    "hidden_act",
    "id2label",
    "initializer_range",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layer_types",
    "mlp_only_layers",
    "model_type",
    "n_ctx",
    "name",
    "norm_topk_prob",
    "num_labels",
    "num_nextn_predict_layers",
    "original_max_position_embeddings",
    "output_router_logits",
    "pad_token_id",
    "per_layer_config",
    "pretraining_tp",
    "qa_dropout",
    "qk_head_dim",
    "quantization_config",
    "reorder_and_upcast_attn",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    "seq_classif_dropout",
    "source",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "task_type_vocab_size",
    "tokenizer_class",
    "time_step_scale",
    "topk_method",
    "torch_dtype",
    "transformers_version",
    "unsloth_version",
    "use_cache",
    "use_mrope",
    "attention_bias",
    "mlp_bias",
    "attention_dropout",
    "tie_word_embeddings",
    "head_dim",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    NULL,
};

#define SETTLED_BY_NONE SIZE_MAX

static const struct {
    const char *key, *what;
    size_t settled_by; /* offset of a field */
} REFUSED[] = {
    {"num_experts", "a mixture of experts", AT(moe.num_experts)},
    {"num_local_experts", "a mixture of experts", AT(moe.num_experts)},
    {"n_routed_experts", "a mixture of experts", AT(moe.num_experts)},
    {"moe_intermediate_size", "a mixture of experts", AT(moe.num_experts)},
    {"num_experts_per_tok", "a mixture of experts", AT(moe.num_experts)},
    {"kv_lora_rank", "latent attention", AT(mla.kv_lora_rank)},
    {"index_topk", "sparse attention", AT(mla.index_topk)},
    {"text_config", "a part of a larger, multimodal model", SETTLED_BY_NONE},
    {"ssm_state_size", "a state-space hybrid", AT(ssm.state_size)},
    {"mamba_d_state", "a state-space hybrid", AT(ssm.state_size)},
    {"linear_num_value_heads", "linear attention", AT(ssm.state_size)},
    {"hidden_size_per_layer_input", "one with an embedding for every layer",
     AT(per_layer.hidden_size)},
    {"num_kv_shared_layers", "one whose layers share keys and values",
     AT(sharing.num_kv_shared_layers)},
    {"mem_len", "one that remembers segments before", SETTLED_BY_NONE},
    {"full_attention_idx", "one whose window not all layers have", SETTLED_BY_NONE},
    {"is_encoder_decoder", "an encoder and a decoder", AT(encoder.present)},
};

/* Switches that change the number of parameters. They count as handled where the family reads the
 * key, or always has the feature whatever the file says. */
static const struct {
    const char *key, *what;
    size_t field;
} COUNTED[] = {
    {"add_adapter", "one with convolutions behind its layers", SETTLED_BY_NONE},
    {"add_cross_attention", "one that looks at an encoder", AT(encoder.present)},
    {"add_bias_linear", "one with biases in its networks", AT(mlp.bias)},
    {"add_qkv_bias", "one with biases of queries, keys and values", AT(attention.qkv_bias)},
    {"attention_bias", "one with biases in attention", AT(attention.qkv_bias)},
    {"attn", "one with attention in some layers", SETTLED_BY_NONE},
    {"draft_vocab_size", "a head that drafts tokens for another model", SETTLED_BY_NONE},
    {"is_folding_model", "one that folds proteins", SETTLED_BY_NONE},
    {"mlp_bias", "one with biases in its networks", AT(mlp.bias)},
    {"proj_low_rank_dim", "one of flash-linear-attention's form", SETTLED_BY_NONE},
    {"qk_layernorm", "one with norms of queries and keys", AT(attention.qk_norm)},
    {"qkv_bias", "one with biases of queries, keys and values", AT(attention.qkv_bias)},
    {"use_bias", "one with biases", AT(mlp.bias)},
    {"use_absolute_embeddings", "one with positions of its own", SETTLED_BY_NONE},
    {"use_cla", "one whose layers share keys and values", AT(sharing.num_kv_shared_layers)},
    {"use_prompt", "one with prompts of its own", SETTLED_BY_NONE},
    {"use_qk_norm", "one with norms of queries and keys", AT(attention.qk_norm)},
    {"use_qkv_bias", "one with biases of queries, keys and values", AT(attention.qkv_bias)},
};

/* Names of the number of experts that every token goes to. */
static const char *const SHARED_EXPERTS[] = {
    "moe_num_shared_experts",   "moe_shared_expert_intermediate_size",
    "n_shared_experts",         "num_shared_expert",
    "num_shared_experts",       "shared_expert_intermediate_size",
    "shared_intermediate_size", NULL};

const char *const *rh_key_aliases(const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(ALIASES); i++)
        for (size_t j = 0; ALIASES[i][j] != NULL; j++)
            if (g_str_equal(ALIASES[i][j], key))
                return ALIASES[i];
    return NULL;
}

static bool has_key(const RhFamily *family, const char *key)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && g_str_equal(f->key, key))
            return true;
    return false;
}

bool rh_key_is_ignored(const char *key)
{
    if (g_strv_contains(IGNORED, key) || rh_key_aliases(key) != NULL)
        return true;
    for (const RhFamily *const *f = rh_families(); *f != NULL; f++)
        if (has_key(*f, key))
            return true;
    return false;
}

static bool has_field(const RhFamily *family, size_t offset)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->offset == offset)
            return true;
    return false;
}

/* Does the family always have this feature, whatever a file says? */
static bool always_has(const RhFamily *family, size_t offset)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->offset == offset && f->type == RH_FIELD_CONSTANT && f->otherwise != 0)
            return true;
    return false;
}

const char *rh_family_counted_key(const RhFamily *family, const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(COUNTED); i++)
        if (g_str_equal(COUNTED[i].key, key))
            return has_key(family, key) || always_has(family, COUNTED[i].field) ? NULL
                                                                                : COUNTED[i].what;
    bool settled = has_field(family, AT(moe.n_shared_experts)) ||
                   has_field(family, AT(moe.shared_intermediate_size));
    return !settled && has_field(family, AT(moe.num_experts)) &&
                   g_strv_contains(SHARED_EXPERTS, key)
               ? "one with shared experts"
               : NULL;
}

const char *rh_family_refused_key(const RhFamily *family, const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(REFUSED); i++)
        if (g_str_equal(REFUSED[i].key, key))
            return has_field(family, REFUSED[i].settled_by) ? NULL : REFUSED[i].what;
    return NULL;
}
