/* Families whose layers differ in more than a window: attention and linear mixers in turn, heads of two sizes
 * (scans of Mamba's kind: families_scans.c). Keys and defaults as in families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* --- Gated DeltaNet and gated attention in turn (Qwen3-Next, Qwen3.5) --- */

#define DELTA_SIZES                                                                                \
    STACK_SIZES, LLAMA_SWITCHES, HEADS(RH_FIELD_REQUIRED, 256), POSITIONS(262144),                 \
        ATTENTION_BIAS(0), FLAG("attn_output_gate", out_gate, 1), CONSTANT(qk_norm, 1),            \
        SIZE("full_attention_interval", full_every, LAYERS_MAX, 4),                                \
        SIZE("linear_num_value_heads", scan_heads, HEADS_MAX, RH_FIELD_REQUIRED),                  \
        SIZE("linear_value_head_dim", scan_head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),           \
        SIZE("linear_num_key_heads", scan_groups, HEADS_MAX, RH_FIELD_REQUIRED),                   \
        SIZE("linear_key_head_dim", state_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                 \
        SIZE("linear_conv_kernel_dim", conv_size, HEAD_SIZE_MAX, 4), CONSTANT(chunk, 64)
#define DELTA_EXPERTS                                                                              \
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),                                                  \
        SIZE("num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),            \
        SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                   \
        COUNT("shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 512),                      \
        CONSTANT(shared_gate, 1), SIZE("decoder_sparse_step", expert_step, LAYERS_MAX, 1),         \
        CONSTANT(expert_offset, -1)

static const RhField QWEN3_5[] = {
    DELTA_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    END,
};
static const RhField QWEN3_5_MOE[] = {DELTA_SIZES, DELTA_EXPERTS, END};

/* OLMo Hybrid (Ai2, 2026): DeltaNet between OLMo's attention, both with as many heads unless said; keys of three
 * quarters of a head, values twice as wide. */
static const RhField OLMO_HYBRID[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(65536),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    CONSTANT(full_every, 4),
    SIZE("linear_num_value_heads", scan_heads, HEADS_MAX, 0),
    SIZE("linear_value_head_dim", scan_head_size, HEAD_SIZE_MAX, 0),
    SIZE("linear_num_key_heads", scan_groups, HEADS_MAX, 0),
    SIZE("linear_key_head_dim", state_size, HEAD_SIZE_MAX, 0),
    SIZE("linear_conv_kernel_dim", conv_size, HEAD_SIZE_MAX, 4),
    CONSTANT(chunk, 64),
    END,
};

static void settle_olmo_hybrid(RhConfig *c)
{
    if (c->scan_heads == 0)
        c->scan_heads = c->heads;
    if (c->scan_groups == 0)
        c->scan_groups = c->heads;
    if (c->state_size == 0)
        c->state_size = MAX(3 * c->hidden / (4 * MAX(c->scan_groups, 1)), 1);
    if (c->scan_head_size == 0)
        c->scan_head_size = 2 * c->state_size;
}

static const RhLayerWord DELTA_WORDS[] = {
    ATTENTION_WORDS,
    {.word = "linear_attention", .mixer = &rh_delta_net},
    {0},
};

/* --- Kimi delta attention, and latent attention without positions (Kimi Linear) --- */

/* Which layers attend to all is a list, from 1 on (layer_lists.c). Latents are as wide as a head. Kimi K3 is of this
 * type, too: experts in a latent, outputs that are scaled. Its attention residuals, which weigh what layers every
 * `attn_res_block_size` put out, are left out: 4 h parameters a layer, and the bytes of reading them. */
static const RhField KIMI_LINEAR[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    SIZE("q_lora_rank", q_rank, WIDTH_MAX, 0),
    SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("model_max_length", positions, TOKENS_MAX, 1048576),
    SIZE("linear_attn_config.num_heads", scan_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("linear_attn_config.head_dim", scan_head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("linear_attn_config.short_conv_kernel_size", conv_size, HEAD_SIZE_MAX, 4),
    CONSTANT(full_every, 4),
    CONSTANT(chunk, 64),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 0),
    SIZE("moe_layer_freq", expert_step, LAYERS_MAX, 1),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0),
    COUNT("num_expert_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    COUNT("routed_expert_hidden_size", expert_latent, WIDTH_MAX, 0),
    FLAG("latent_moe_use_norm", latent_norm, 0),
    FLAG("mla_use_output_gate", out_gate, 0),
    FLAG("linear_attn_config.use_full_rank_gate", full_gate, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord KIMI_LINEAR_WORDS[] = {
    ATTENTION_WORDS,
    {.word = "linear_attention", .mixer = &rh_kimi_delta},
    {0},
};

static void settle_kimi_linear(RhConfig *c)
{
    c->scan_groups = c->scan_heads;
    c->state_size = c->step_rank = c->scan_head_size;
}

/* --- Short convolutions and attention (LFM2) --- */

#define LFM2_SIZES                                                                                 \
    STACK_SIZES, LLAMA_SWITCHES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(128000),                   \
        FLAG("tie_word_embeddings", tied, 1), CONSTANT(qk_norm, 1),                                \
        SIZE("conv_L_cache", conv_size, HEAD_SIZE_MAX, 3), FLAG("conv_bias", conv_bias, 0)

/* An ffn's width is two thirds of what is said, in steps of 256, unless the file says not. */
static const RhField LFM2[] = {
    LFM2_SIZES,
    SIZE("intermediate_size", ffn_both, WIDTH_MAX, RH_FIELD_REQUIRED),
    FLAG("block_auto_adjust_ff_dim", ffn_adjusted, 1),
    SIZE("block_multiple_of", ffn_multiple, WIDTH_MAX, 256),
    END,
};

static const RhField LFM2_MOE[] = {
    LFM2_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_dense_layers", dense_layers, LAYERS_MAX, 2),
    END,
};

static const RhLayerWord LFM2_WORDS[] = {
    {.word = "conv", .mixer = &rh_short_convolution},
    {.word = "linear_attention", .mixer = &rh_short_convolution},
    ATTENTION_WORDS,
    {0},
};

static void settle_lfm2(RhConfig *c)
{
    int64_t two_thirds = 2 * c->ffn_both / 3, step = MAX(c->ffn_multiple, 1);
    if (c->ffn == 0)
        c->ffn = c->ffn_adjusted ? (two_thirds + step - 1) / step * step : c->ffn_both;
}

/* --- Lightning attention and attention in turn, experts behind both (MiniMax-01, -M1) --- */

#define MINIMAX_SIZES                                                                              \
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(10240000),                                 \
        SIZE("block_size", chunk, TOKENS_MAX, 256), EXPERTS("num_local_experts"),                  \
        COUNT("shared_intermediate_size", shared_ffn, WIDTH_MAX, 0)

static const RhField MINIMAX_01[] = {MINIMAX_SIZES, CONSTANT(full_every, 8), END};

/* Without a list transformers takes every second layer, from the first on. */
static const RhField MINIMAX[] = {
    MINIMAX_SIZES,
    CONSTANT(full_every, 2),
    CONSTANT(full_at, 1),
    END,
};

/* Ring-linear (arXiv 2510.19338): Ling 2's mixture behind lightning attention, attention in the last layer of each
 * group; norms of its linear layers' queries and keys are left out. */
static const RhField BAILING_LINEAR[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(131072),
    FLAG("use_qkv_bias", qkv_bias, 0),
    FLAG("use_bias", out_bias, 0),
    FLAG("use_bias", ffn_bias, 0),
    SIZE("layer_group_size", full_every, LAYERS_MAX, 1),
    CONSTANT(chunk, 256),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 0),
    COUNT("moe_shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0),
    COUNT("n_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    FLAG("use_qk_norm", qk_norm, 0),
    FLAG("moe_router_enable_expert_bias", router_bias, 0),
    END,
};

/* Ling 2.5 and Ring 2.5 (Ant Group, 2026): the same with latent attention in the last layer of each group. A linear head is as
 * wide as its part of the hidden state, whatever transformers calls `head_dim`. Ling 3.0 (2026), which has the same type:
 * Kimi delta attention in place of lightning, its decays and gates from the hidden state (`no_kda_lora`), and the output of
 * latent attention scaled, by one number a head. */
#define BAILING_HYBRID_SIZES(dense_otherwise)                                                      \
    LLAMA_SIZES, SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),                              \
        NULLABLE("q_lora_rank", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                             \
        SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                               \
        SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED), POSITIONS(131072),       \
        FLAG("use_qkv_bias", qkv_bias, 0), FLAG("use_bias", out_bias, 0),                          \
        FLAG("use_bias", ffn_bias, 0), EXPERTS("num_experts"),                                     \
        SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                   \
        COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 1),                               \
        COUNT("moe_shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),                    \
        COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, dense_otherwise),                 \
        COUNT("n_group", expert_groups, EXPERTS_MAX, 0),                                           \
        COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),                                 \
        SIZE("head_dim", scan_head_size, HEAD_SIZE_MAX, 0), CONSTANT(router_bias, 1)

static const RhField BAILING_HYBRID[] = {
    BAILING_HYBRID_SIZES(4),
    SIZE("layer_group_size", full_every, LAYERS_MAX, 8),
    CONSTANT(chunk, 256),
    FLAG("use_qk_norm", near_norms, 0),
    END,
};

static const RhField BAILING_DELTA[] = {
    BAILING_HYBRID_SIZES(2),
    SIZE("layer_group_size", full_every, LAYERS_MAX, 6),
    CONSTANT(chunk, 64),
    SIZE("short_conv_kernel_size", conv_size, HEAD_SIZE_MAX, 4),
    FLAG("no_kda_lora", full_gate, 1),
    SAID("gated_attention_proj_granularity_type", out_gate, 1),
    BEGINS("gated_attention_proj_granularity_type", gate_by_head, "head", 1),
    END,
};

static const RhLayerWord BAILING_HYBRID_WORDS[] = {
    ATTENTION_WORDS,
    {.word = "linear_attention",
     .mixer = &rh_lightning,
     .figures = {{AT(head_size), AT(scan_head_size)}}},
    {0},
};

static void settle_bailing_hybrid(RhConfig *c)
{
    if (c->scan_head_size == 0 || c->scan_head_size == c->rope_size)
        c->scan_head_size = MAX(c->hidden / MAX(c->heads, 1), 1);
}

/* Latents are as wide as a head. */
static void settle_bailing_delta(RhConfig *c)
{
    if (c->scan_head_size == 0)
        c->scan_head_size = 128;
    c->scan_heads = c->scan_groups = c->heads;
    c->state_size = c->scan_head_size;
    c->step_rank = c->full_gate ? 0 : c->scan_head_size;
}

static const RhLayerWord LIGHTNING_WORDS[] = {
    ATTENTION_WORDS,
    {.word = "linear_attention", .mixer = &rh_lightning},
    {0},
};

/* --- Heads of two sizes (Gemma 4) --- */

/* Layers without a window have wider and fewer heads, whose keys are values, too. Experts work beside a
 * dense network, which is a shared expert of its own width. */
static const RhField GEMMA4[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 256),
    POSITIONS(131072),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    WINDOW(512),
    CONSTANT(window_used, 1),
    SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 6),
    SIZE("global_head_dim", wide_head_size, HEAD_SIZE_MAX, 512),
    SIZE("num_global_key_value_heads", wide_kv_heads, HEADS_MAX, 0),
    FLAG("attention_k_eq_v", wide_keys_as_values, 0),
    CONSTANT(qk_norm, 1),
    CONSTANT(extra_norms, 1),
    COUNT("num_experts", experts, EXPERTS_MAX, 0),
    COUNT("top_k_experts", experts_per_token, EXPERTS_MAX, 0),
    COUNT("moe_intermediate_size", expert_ffn, WIDTH_MAX, 0),
    COUNT("num_kv_shared_layers", shared_layers, LAYERS_MAX, 0),
    FLAG("use_double_wide_mlp", shared_wide, 0),
    COUNT("hidden_size_per_layer_input", layer_input, WIDTH_MAX, 0),
    SIZE("vocab_size_per_layer_input", layer_vocab, VOCAB_MAX, 262144),
    END,
};

/* Gemma 3n (Google, 2025): heads of one size; the first ten layers' networks are sparse, which saves nothing
 * here. */
static const RhField GEMMA3N[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 256),
    POSITIONS(32768),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    WINDOW(512),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 5),
    CONSTANT(qk_norm, 1),
    CONSTANT(extra_norms, 1),
    COUNT("num_kv_shared_layers", shared_layers, LAYERS_MAX, 15),
    COUNT("hidden_size_per_layer_input", layer_input, WIDTH_MAX, 256),
    SIZE("vocab_size_per_layer_input", layer_vocab, VOCAB_MAX, 262144),
    SIZE("laurel_rank", side_rank, WIDTH_MAX, 64),
    SIZE("altup_num_inputs", alternates, 64, 4),
    END,
};

static const RhLayerWord GEMMA4_WORDS[] = {
    {.word = "full_attention",
     .figures = {{AT(head_size), AT(wide_head_size)},
                 {AT(kv_heads), AT(wide_kv_heads)},
                 {AT(keys_as_values), AT(wide_keys_as_values)}}},
    {.word = "sliding_attention", .slides = true},
    {0},
};

static void settle_gemma4(RhConfig *c)
{
    if (!c->wide_keys_as_values) /* else they are as many as in other layers */
        c->wide_kv_heads = 0;
    if (c->experts > 0)
        c->shared_ffn = c->ffn;
}

/* --- Compressed keys (DeepSeek-V4) --- */

/* One key-value head, whose keys are values, too, and stand for some tokens each but in a window. The
 * ratio 0 of a layer leaves the window alone. The routers' hash tables are not trained. */
static const RhField DEEPSEEK_V4[] = {
    STACK_SIZES,
    SIZE("moe_intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("q_lora_rank", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, 64),
    SIZE("o_lora_rank", out_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("o_groups", out_groups, HEADS_MAX, RH_FIELD_REQUIRED),
    WINDOW(128),
    CONSTANT(window_used, 1),
    COUNT("compress_ratios", compress, TOKENS_MAX, 0),
    SIZE("compress_rates.compressed_sparse_attention", compress_few, TOKENS_MAX, 4),
    SIZE("compress_rates.heavily_compressed_attention", compress_many, TOKENS_MAX, 128),
    SIZE("index_n_heads", index_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("index_head_dim", index_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("index_topk", index_top, TOKENS_MAX, RH_FIELD_REQUIRED),
    SIZE("hc_mult", streams, 64, 1),
    POSITIONS(1048576),
    LLAMA_SWITCHES,
    EXPERTS("n_routed_experts"),
    COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord DEEPSEEK_V4_WORDS[] = {
    {.word = "sliding_attention", .slides = true},
    {.word = "compressed_sparse_attention",
     .slides = true,
     .figures = {{AT(compress), AT(compress_few)}}},
    {.word = "heavily_compressed_attention",
     .slides = true,
     .figures = {{AT(compress), AT(compress_many)}}},
    {0},
};

/* --- Layers of different shapes, listed one by one (Nemotron's architecture search) --- */

/* intermediate_size and num_key_value_heads stand in block_configs, layer by layer. */
static const RhField NEMOTRON_NAS[] = {
    STACK_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    HEADS(0, 0),
    POSITIONS(2048),
    LLAMA_SWITCHES,
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

/* --- Layers of one's own (own_layers.c) --- */

static const RhField OWN[] = {
    SIZE("hidden", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("context", positions, TOKENS_MAX, RH_FIELD_REQUIRED),
    SIZE("rotary_base", rotary_base, BASE_MAX, 10000),
    FLAG("tied", tied, 0),
    FLAG("embedding_norm", embedding_norm, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(window_used, 1),
    END,
};

/* The same on pictures; it has no mixer of its own. */
static const RhField PICTURES[] = {
    SIZE("height", picture_height, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("width", picture_width, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("channels", channels, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("classes", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    CONSTANT(hidden, 1),
    CONSTANT(positions, 1),
    CONSTANT(window_used, 1),
    END,
};

#define MIXED(name, position, mixer, fields, words, between, settle)                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_##position, &mixer, &rh_ffn, fields, words, between, settle \
    }

const RhFamily rh_families_mixed[] = {
    MIXED("bailing_hybrid", ROTARY, rh_latent_attention, BAILING_HYBRID, BAILING_HYBRID_WORDS,
          "linear_attention", settle_bailing_hybrid),
    MIXED("bailing_hybrid_delta", ROTARY, rh_latent_attention, BAILING_DELTA, KIMI_LINEAR_WORDS,
          "linear_attention", settle_bailing_delta),
    MIXED("bailing_moe_linear", ROTARY, rh_attention, BAILING_LINEAR, LIGHTNING_WORDS,
          "linear_attention", NULL),
    MIXED("deepseek_v4", ROTARY, rh_compressed_attention, DEEPSEEK_V4, DEEPSEEK_V4_WORDS,
          "sliding_attention", NULL),
    MIXED("gemma3n_text", ROTARY, rh_attention, GEMMA3N, NULL, "sliding_attention", NULL),
    MIXED("gemma4_text", ROTARY, rh_attention, GEMMA4, GEMMA4_WORDS, "sliding_attention",
          settle_gemma4),
    MIXED("gemma4_unified_text", ROTARY, rh_attention, GEMMA4, GEMMA4_WORDS, "sliding_attention",
          settle_gemma4),
    MIXED("kimi_linear", NONE, rh_latent_attention, KIMI_LINEAR, KIMI_LINEAR_WORDS,
          "linear_attention", settle_kimi_linear),
    MIXED("layers", ROTARY, rh_attention, OWN, NULL, NULL, NULL),
    {"pictures", RH_NORM_NONE, RH_POSITION_NONE, &rh_steps, &rh_ffn, PICTURES, NULL, NULL, NULL},
    MIXED("lfm2", ROTARY, rh_attention, LFM2, LFM2_WORDS, "conv", settle_lfm2),
    MIXED("lfm2_moe", ROTARY, rh_attention, LFM2_MOE, LFM2_WORDS, "conv", NULL),
    MIXED("minimax", ROTARY, rh_attention, MINIMAX, LIGHTNING_WORDS, "linear_attention", NULL),
    MIXED("minimax_m1", ROTARY, rh_attention, MINIMAX_01, LIGHTNING_WORDS, "linear_attention",
          NULL),
    MIXED("minimax_text_01", ROTARY, rh_attention, MINIMAX_01, LIGHTNING_WORDS, "linear_attention",
          NULL),
    MIXED("nemotron-nas", ROTARY, rh_attention, NEMOTRON_NAS, NULL, "sliding_attention", NULL),
    MIXED("olmo_hybrid", ROTARY, rh_attention, OLMO_HYBRID, DELTA_WORDS, "linear_attention",
          settle_olmo_hybrid),
    MIXED("qwen3_5_moe_text", ROTARY, rh_attention_gated, QWEN3_5_MOE, DELTA_WORDS,
          "linear_attention", NULL),
    MIXED("qwen3_5_text", ROTARY, rh_attention_gated, QWEN3_5, DELTA_WORDS, "linear_attention",
          NULL),
    MIXED("qwen3_next", ROTARY, rh_attention_gated, QWEN3_5_MOE, DELTA_WORDS, "linear_attention",
          NULL),
    {0},
};
