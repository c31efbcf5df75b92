/* The table of model families. Keys and defaults are those of Hugging Face transformers
 * (configuration_llama.py, configuration_mistral.py, configuration_qwen2.py,
 * configuration_qwen3.py, configuration_nemotron.py, configuration_gpt2.py,
 * configuration_mixtral.py, configuration_qwen3_moe.py, configuration_deepseek_v2.py, and of V3); where a default there is the size of one particular model, the key
 * is required here. */
#include "workloads/families.h"

#include <glib.h>

#include "workloads/operators/operator.h"

/* Beyond anything built or announced: larger values are typing errors. */
#define LAYERS_MAX    4096
#define WIDTH_MAX     (1 << 20)
#define HEADS_MAX     (1 << 14)
#define HEAD_SIZE_MAX (1 << 12)
#define EXPERTS_MAX   (1 << 14)
#define VOCAB_MAX     (1 << 24)
#define TOKENS_MAX    (1 << 30)
#define BASE_MAX      (INT64_C(1) << 40)

#define AT(field) offsetof(RhConfig, field)
#define SIZE(key, field, high, otherwise)                                                          \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 1, high, otherwise                                          \
    }
#define COUNT(key, field, high, otherwise)                                                         \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 0, high, otherwise                                          \
    }
#define FLAG(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_FLAG, 0, 1, otherwise                                             \
    }
#define RATE(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_RATE, 0, 1, otherwise                                             \
    }
#define CONSTANT(field, value)                                                                     \
    {                                                                                              \
        NULL, AT(field), RH_FIELD_CONSTANT, 0, 0, value                                            \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0, RH_FIELD_NONE, 0, 0, 0                                                            \
    }

/* What llama's descendants share. 0 for kv_heads, head_size: as many as heads, hidden / heads. */
#define LLAMA_SIZES                                                                                \
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),                                   \
        SIZE("rope_theta", rotary_base, BASE_MAX, 10000), FLAG("tie_word_embeddings", tied, 0),    \
        RATE("attention_dropout", attention_dropout, 0), CONSTANT(ffn_gated, 1)

/* How many there are, and a token's. */
#define EXPERTS(key)                                                                               \
    SIZE(key, experts, EXPERTS_MAX, RH_FIELD_REQUIRED),                                            \
        SIZE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED)

static const RhField LLAMA[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 2048),
    FLAG("attention_bias", qkv_bias, 0),
    FLAG("attention_bias", out_bias, 0),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

/* configuration_nemotron.py: one way up with a squared ReLU, layer norms. */
static const RhField NEMOTRON[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 4096),
    FLAG("attention_bias", qkv_bias, 0),
    FLAG("attention_bias", out_bias, 0),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

static const RhField MISTRAL[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 131072),
    SIZE("sliding_window", window, TOKENS_MAX, 0),
    CONSTANT(window_used, 1),
    END,
};

static const RhField QWEN2[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 32768),
    FLAG("use_sliding_window", window_used, 0),
    SIZE("sliding_window", window, TOKENS_MAX, 4096),
    COUNT("max_window_layers", window_from, LAYERS_MAX, 28),
    CONSTANT(qkv_bias, 1),
    END,
};

/* 0 for `head`: hidden / heads. */
#define QWEN3_SIZES(head)                                                                          \
    LLAMA_SIZES, SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),              \
        SIZE("head_dim", head_size, HEAD_SIZE_MAX, head),                                          \
        SIZE("max_position_embeddings", positions, TOKENS_MAX, 32768),                             \
        FLAG("attention_bias", qkv_bias, 0), FLAG("attention_bias", out_bias, 0),                  \
        FLAG("use_sliding_window", window_used, 0),                                                \
        SIZE("sliding_window", window, TOKENS_MAX, 4096),                                          \
        COUNT("max_window_layers", window_from, LAYERS_MAX, 28), CONSTANT(qk_norm, 1)

static const RhField QWEN3[] = {QWEN3_SIZES(128), END};

/* intermediate_size is an expert's width. */
static const RhField MIXTRAL[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 131072),
    SIZE("sliding_window", window, TOKENS_MAX, 0),
    CONSTANT(window_used, 1),
    EXPERTS("num_local_experts"),
    END,
};

/* Norms of queries and keys are over all heads together; a GPU's work is the same. Heads that predict
 * further tokens are left out. */
static const RhField MINIMAX_M2[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 196608),
    FLAG("use_qk_norm", qk_norm, 0),
    EXPERTS("num_local_experts"),
    FLAG("use_routing_bias", router_bias, 0),
    END,
};

/* One attention sink a head is left out. */
static const RhField GPT_OSS[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 64),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 131072),
    FLAG("attention_bias", qkv_bias, 1),
    FLAG("attention_bias", out_bias, 1),
    CONSTANT(ffn_bias, 1),
    SIZE("sliding_window", window, TOKENS_MAX, 128),
    CONSTANT(window_used, 1),
    EXPERTS("num_local_experts"),
    CONSTANT(router_bias, 1),
    END,
};

static const RhField QWEN3_MOE[] = {
    QWEN3_SIZES(0),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder_sparse_step", expert_step, LAYERS_MAX, 1),
    END,
};

/* Queries without a latent (null), and files of models without experts, leave these keys at 0. */
#define DEEPSEEK_SIZES                                                                             \
    LLAMA_SIZES, SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),                              \
        SIZE("q_lora_rank", q_rank, WIDTH_MAX, 0),                                                 \
        SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                               \
        SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("max_position_embeddings", positions, TOKENS_MAX, 2048),                              \
        FLAG("attention_bias", qkv_bias, 0), FLAG("attention_bias", out_bias, 0),                  \
        FLAG("mlp_bias", ffn_bias, 0), COUNT("n_routed_experts", experts, EXPERTS_MAX, 0),         \
        COUNT("num_experts_per_tok", experts_per_token, EXPERTS_MAX, 0),                           \
        COUNT("moe_intermediate_size", expert_ffn, WIDTH_MAX, 0),                                  \
        COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 0),                                 \
        SIZE("moe_layer_freq", expert_step, LAYERS_MAX, 1),                                        \
        COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0)

static const RhField DEEPSEEK_V2[] = {DEEPSEEK_SIZES, END};

/* Experts are chosen by their scores and a bias each (arXiv 2408.15664). The head that predicts a
 * second token (num_nextn_predict_layers) is left out. */
static const RhField DEEPSEEK_V3[] = {DEEPSEEK_SIZES, CONSTANT(router_bias, 1), END};

/* 0 for n_inner: four times n_embd. */
static const RhField GPT2[] = {
    SIZE("n_layer", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_embd", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_head", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_inner", ffn, WIDTH_MAX, 0),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("n_positions", positions, TOKENS_MAX, 1024),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("resid_pdrop", hidden_dropout, 1),
    RATE("attn_pdrop", attention_dropout, 1),
    CONSTANT(qkv_bias, 1),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    END,
};

/* Sorted by name. */
static const RhFamily FAMILIES[] = {
    {"deepseek_v2", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_latent_attention, &rh_ffn, DEEPSEEK_V2},
    {"deepseek_v3", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_latent_attention, &rh_ffn, DEEPSEEK_V3},
    {"gpt2", RH_NORM_LAYER, RH_POSITION_LEARNED, &rh_attention, &rh_ffn, GPT2},
    {"gpt_oss", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, GPT_OSS},
    {"kimi_k2", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_latent_attention, &rh_ffn, DEEPSEEK_V3},
    {"llama", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, LLAMA},
    {"minimax_m2", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MINIMAX_M2},
    {"mistral", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MISTRAL},
    {"mixtral", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MIXTRAL},
    {"nemotron", RH_NORM_LAYER, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, NEMOTRON},
    {"qwen2", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, QWEN2},
    {"qwen3", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, QWEN3},
    {"qwen3_moe", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, QWEN3_MOE},
    {"qwen3_vl_moe_text", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, QWEN3_MOE},
    {"qwen3_vl_text", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, QWEN3},
};

const RhField rh_set_fields[] = {
    SIZE("layers", layers, LAYERS_MAX, 0),
    SIZE("hidden", hidden, WIDTH_MAX, 0),
    SIZE("heads", heads, HEADS_MAX, 0),
    SIZE("kv_heads", kv_heads, HEADS_MAX, 0),
    SIZE("head_size", head_size, HEAD_SIZE_MAX, 0),
    SIZE("ffn", ffn, WIDTH_MAX, 0),
    SIZE("vocab", vocab, VOCAB_MAX, 0),
    SIZE("positions", positions, TOKENS_MAX, 0),
    COUNT("window", window, TOKENS_MAX, 0),
    COUNT("experts", experts, EXPERTS_MAX, 0),
    COUNT("experts_per_token", experts_per_token, EXPERTS_MAX, 0),
    FLAG("tied", tied, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    END,
};

/* Ids, initial values, inference defaults and numerics: no effect on what a training step costs.
 * Listed so that a key near one of ours can be told from a typing error. */
static const char *const FOREIGN[] = {
    "_name_or_path",
    "activation_function",
    "architectures",
    "attn_implementation",
    "aux_loss_alpha",
    "auto_map",
    "bos_token_id",
    "dtype",
    "embd_pdrop",
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
    "n_group",
    "name",
    "norm_topk_prob",
    "num_labels",
    "num_nextn_predict_layers",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
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
    "source",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "tokenizer_class",
    "topk_group",
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
    {"num_experts", "a mixture of experts", AT(experts)},
    {"num_local_experts", "a mixture of experts", AT(experts)},
    {"n_routed_experts", "a mixture of experts", AT(experts)},
    {"moe_intermediate_size", "a mixture of experts", AT(experts)},
    {"num_experts_per_tok", "a mixture of experts", AT(experts)},
    {"kv_lora_rank", "latent attention", AT(kv_rank)},
    {"block_configs", "layers of different shapes", SETTLED_BY_NONE},
    {"text_config", "a part of a larger, multimodal model", SETTLED_BY_NONE},
    {"vision_config", "multimodal", SETTLED_BY_NONE},
    {"ssm_state_size", "a state-space hybrid", SETTLED_BY_NONE},
    {"linear_num_value_heads", "linear attention", SETTLED_BY_NONE},
};

const RhFamily *rh_family_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(FAMILIES); i++)
        if (g_str_equal(FAMILIES[i].name, name))
            return &FAMILIES[i];
    return NULL;
}

const char *const *rh_family_names(void)
{
    static const char *names[G_N_ELEMENTS(FAMILIES) + 1];
    static gsize filled;
    if (g_once_init_enter(&filled)) {
        for (size_t i = 0; i < G_N_ELEMENTS(FAMILIES); i++)
            names[i] = FAMILIES[i].name;
        g_once_init_leave(&filled, 1);
    }
    return names;
}

bool rh_family_key_is_foreign(const char *key)
{
    return g_strv_contains(FOREIGN, key);
}

static bool has_field(const RhFamily *family, size_t offset)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->offset == offset)
            return true;
    return false;
}

const char *rh_family_refused_key(const RhFamily *family, const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(REFUSED); i++)
        if (g_str_equal(REFUSED[i].key, key))
            return has_field(family, REFUSED[i].settled_by) ? NULL : REFUSED[i].what;
    return NULL;
}
