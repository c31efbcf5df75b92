/* Decoders near a llama that say their figures under names or by rules of their own. Keys and defaults as in
 * families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* --- Dense --- */

/* IQuest-Coder (2026): a llama. Solar Pro (Upstage, 2024): the same with a window; its layers that read what others put out
 * have no parameters of their own. */
static const RhField LLAMA[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    WINDOW(0),
    CONSTANT(window_used, 1),
    END,
};

/* TeleChat and TeleChat 2 (arXiv 2401.03804; Tele-AI, 2024): biases where attention and network put out. */
static const RhField TELECHAT[] = {
    STACK_SIZES,
    SIZE("ffn_hidden_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    HEADS(0, 0),
    SIZE("seq_length", positions, TOKENS_MAX, 2048),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("attention_dropout", attention_dropout, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    CONSTANT(ffn_gated, 1),
    END,
};

/* PLaMo 3 (Preferred Networks, 2025): norms as Gemma 3's, every eighth layer without a window. */
static const RhField PLAMO3[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(4096),
    FLAG("tie_word_embeddings", tied, 1),
    WINDOW(2048),
    CONSTANT(window_used, 1),
    SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 8),
    CONSTANT(qk_norm, 1),
    CONSTANT(extra_norms, 1),
    END,
};

/* Ouro (arXiv 2510.25741): norms before and behind blocks; all layers are gone through `total_ut_steps` times, each with
 * keys and values of its own. The norm between two turns is left out, and what tells when to stop. */
static const RhField OURO[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(65536),
    WINDOW(0),
    FLAG("use_sliding_window", window_used, 0),
    SIZE("total_ut_steps", loops, 64, 4),
    CONSTANT(extra_norms, 1),
    END,
};

/* OpenELM (arXiv 2404.14619): heads and widths of each layer's own, which lists say: a width as so many hidden states
 * (layer_lists.c). */
static const RhField OPENELM[] = {
    SIZE("num_transformer_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("model_dim", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_query_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("num_kv_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("ffn_dim_divisor", ffn_divisor, WIDTH_MAX, 256),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("max_context_length", positions, TOKENS_MAX, 2048),
    SIZE("rope_freq_constant", rotary_base, BASE_MAX, 10000),
    FLAG("share_input_output_layers", tied, 1),
    FLAG("normalize_qk_projections", qk_norm, 0),
    FLAG("ffn_with_glu", ffn_gated, 1),
    END,
};

/* Spark 2.5 (XHToken, 2026): windows where `layer_types` says, each head's output scaled by a number. */
static const RhField SPARK2_5[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 256),
    POSITIONS(1048576),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    SIZE("sliding_window", window, TOKENS_MAX, 512),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    FLAG("headwise_attn_output_gate", out_gate, 1),
    CONSTANT(gate_by_head, 1),
    END,
};

/* Molmo 2 (Ai2, 2025): a Qwen 3 in Molmo's names; rows that pictures add to its table are left out. */
static const RhField MOLMO2[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(4096),
    FLAG("qkv_bias", qkv_bias, 1),
    FLAG("use_qk_norm", qk_norm, 0),
    END,
};

/* --- Mixtures --- */

/* SDAR (arXiv 2510.06303): a Qwen 3 that makes blocks of tokens at once, of `block_size`, each under a causal mask to those
 * before it. */
static const RhField SDAR_MOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(32768),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    QWEN_EXPERTS,
    END,
};

/* Pangu Pro MoE (arXiv 2505.21411): experts in groups, of each of which a token asks as many, and a shared one. */
static const RhField PANGU_PRO_MOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(32768),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    CONSTANT(qkv_bias, 1),
    CONSTANT(out_bias, 1),
    END,
};

/* SmallThinker (arXiv 2507.20984): all layers with experts, a router before attention; windows where
 * `sliding_window_layout` says 1. */
static const RhField SMALLTHINKER[] = {
    STACK_SIZES,
    LLAMA_SWITCHES,
    HEADS(RH_FIELD_REQUIRED, RH_FIELD_REQUIRED),
    POSITIONS(32768),
    SIZE("moe_ffn_hidden_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("sliding_window_size", window, TOKENS_MAX, 4096),
    CONSTANT(window_used, 1),
    CONSTANT(window_from, LAYERS_MAX),
    SIZE("moe_num_primary_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_num_active_primary_experts", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    END,
};

/* Sarvam's 30B (Sarvam AI, 2026) is a Ling 2; its 105B has latent attention. */
#define SARVAM_EXPERTS                                                                             \
    EXPERTS("num_experts"),                                                                        \
        SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                   \
        COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 1),                               \
        COUNT("moe_shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),                    \
        COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 1),                               \
        COUNT("n_group", expert_groups, EXPERTS_MAX, 0),                                           \
        COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),                                 \
        FLAG("moe_router_enable_expert_bias", router_bias, 1)

static const RhField SARVAM[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(131072),
    FLAG("use_qkv_bias", qkv_bias, 0),
    FLAG("use_bias", out_bias, 0),
    FLAG("use_bias", ffn_bias, 0),
    FLAG("use_qk_norm", qk_norm, 1),
    SARVAM_EXPERTS,
    END,
};

/* Queries without a latent where the file does not say its rank. */
static const RhField SARVAM_MLA[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    NULLABLE("q_lora_rank", q_rank, WIDTH_MAX, 0),
    SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    POSITIONS(131072),
    SARVAM_EXPERTS,
    END,
};

/* A.X K2 (SK Telecom, 2026): latent attention with an indexer; what scales its output reads the queries' latent. The gates of
 * its norms are left out, of `gated_norm_rank` columns each: 0.004 % of the parameters. */
static const RhField AXK2[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    NULLABLE("q_lora_rank", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    POSITIONS(262144),
    ATTENTION_BIAS(0),
    FLAG("attention_output_gate", out_gate, 1),
    CONSTANT(gate_of_latent, 1),
    NULLABLE("index_n_heads", index_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("index_head_dim", index_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    NULLABLE("index_topk", index_top, TOKENS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("n_routed_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    NULLABLE("n_shared_experts", shared_experts, EXPERTS_MAX, 1),
    NULLABLE("n_group", expert_groups, EXPERTS_MAX, 0),
    NULLABLE("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    SIZE("moe_layer_freq", expert_step, LAYERS_MAX, 1),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* --- Linear mixers --- */

/* Solar Open 2 (Upstage, 2026): the first of every `gqa_interval` + 1 layers looks at all keys, without positions and with a
 * gate; Kimi delta attention between. */
static const RhField SOLAR_OPEN2[] = {
    STACK_SIZES,
    LLAMA_SWITCHES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(1048576),
    ATTENTION_BIAS(0),
    FLAG("use_qk_norm", qk_norm, 0),
    FLAG("use_gqa_gate", out_gate, 1),
    SIZE("gqa_interval", between, LAYERS_MAX, 3),
    SIZE("linear_attn_config.num_heads", scan_heads, HEADS_MAX, 0),
    SIZE("linear_attn_config.num_kv_heads", scan_groups, HEADS_MAX, 0),
    SIZE("linear_attn_config.head_dim", scan_head_size, HEAD_SIZE_MAX, 0),
    SIZE("linear_attn_config.short_conv_kernel_size", conv_size, HEAD_SIZE_MAX, 4),
    FLAG("kda_use_full_proj", full_gate, 0),
    CONSTANT(chunk, 64),
    CONSTANT(full_at, 1),
    EXPERTS("n_routed_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 1),
    COUNT("n_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord SOLAR_OPEN2_WORDS[] = {
    {.word = "full_attention"},
    {.word = "attention"},
    {.word = "linear_attention", .mixer = &rh_kimi_delta},
    {0},
};

static void settle_solar_open2(RhConfig *c)
{
    c->full_every = c->between + 1;
    if (c->scan_heads == 0)
        c->scan_heads = c->heads;
    if (c->scan_groups == 0)
        c->scan_groups = c->scan_heads;
    if (c->scan_head_size == 0)
        c->scan_head_size = c->head_size;
    c->state_size = c->scan_head_size;
    c->step_rank = c->full_gate ? 0 : c->scan_head_size;
}

/* Once, as of LongCat: whoever sets layers wants so many of ours. */
static void settle_ouro(RhConfig *c)
{
    int64_t loops = MAX(c->loops, 1);
    if (c->layer_groups == 0)
        c->layers *= loops;
    c->layer_groups = MAX(c->layers / loops, 1);
}

#define DECODER(name, mixer, fields)                                                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &mixer, &rh_ffn, fields, NULL, "sliding_attention", \
            NULL                                                                                   \
    }

const RhFamily rh_families_kin[] = {
    DECODER("AXK2", rh_sparse_attention, AXK2),
    DECODER("axk2", rh_sparse_attention, AXK2),
    DECODER("iquestcoder", rh_attention, LLAMA),
    DECODER("molmo2_text", rh_attention, MOLMO2),
    DECODER("openelm", rh_attention, OPENELM),
    {"ouro", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, OURO, NULL,
     "sliding_attention", settle_ouro},
    DECODER("PanguProMoE", rh_attention, PANGU_PRO_MOE),
    DECODER("plamo3", rh_attention, PLAMO3),
    DECODER("sarvam_mla", rh_latent_attention, SARVAM_MLA),
    DECODER("sarvam_moe", rh_attention, SARVAM),
    DECODER("sdar_moe", rh_attention, SDAR_MOE),
    DECODER("smallthinker", rh_attention, SMALLTHINKER),
    DECODER("solar", rh_attention, LLAMA),
    {"solar_open2", RH_NORM_RMS, RH_POSITION_NONE, &rh_attention_gated, &rh_ffn, SOLAR_OPEN2,
     SOLAR_OPEN2_WORDS, "linear_attention", settle_solar_open2},
    DECODER("spark2_5", rh_attention_gated, SPARK2_5),
    DECODER("telechat", rh_attention, TELECHAT),
    {0},
};
