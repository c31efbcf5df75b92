/* Mixtures of experts whose layers a list tells apart, or have heads of their own. Keys and defaults as in
 * families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* MiniMax-M3: sees blocks that an indexer chooses in layers that `sparse_attention_freq` says; dense layers have a
 * width of their own. */
static const RhField MINIMAX_M3[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(524288),
    FLAG("use_qk_norm", qk_norm, 1),
    FLAG("attention_output_gate", out_gate, 0),
    COUNT("sparse_attention_config.sparse_num_index_heads", index_heads, HEADS_MAX, 0),
    COUNT("sparse_attention_config.sparse_index_dim", index_size, HEAD_SIZE_MAX, 0),
    COUNT("sparse_attention_config.sparse_topk_blocks", sparse_near, TOKENS_MAX, 0),
    COUNT("sparse_attention_config.sparse_block_size", sparse_block, TOKENS_MAX, 128),
    EXPERTS("num_local_experts"),
    SIZE("dense_intermediate_size", dense_ffn, WIDTH_MAX, 0),
    COUNT("shared_intermediate_size", shared_ffn, WIDTH_MAX, 3072),
    FLAG("use_routing_bias", router_bias, 1),
    END,
};

static const RhLayerWord MINIMAX_M3_WORDS[] = {
    {.word = "full_attention"},
    {.word = "minimax_m3_sparse", .mixer = &rh_attention_by_blocks},
    {0},
};

/* Step3 (arXiv 2507.19427): layers with experts are a text of numbers (layer_lists.c). */
static const RhField STEP3[] = {
    LLAMA_SIZES,
    SIZE("num_attention_groups", kv_heads, HEADS_MAX, 1),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 256),
    SIZE("share_q_dim", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("max_position_embedding", positions, TOKENS_MAX, 65536),
    SIZE("moe_num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_top_k", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("share_expert_dim", shared_ffn, WIDTH_MAX, 0),
    END,
};

/* A window in layers that a list says, and in no others. */
#define LISTED_WINDOWS CONSTANT(window_used, 1), CONSTANT(window_from, LAYERS_MAX)

/* Step 3.5 (arXiv 2602.10604): layers of a window have heads of their own, whose figures stand apart; each head's
 * output is scaled by a number. */
static const RhField STEP3_5[] = {
    LLAMA_SIZES,
    SIZE("num_attention_groups", kv_heads, HEADS_MAX, 1),
    SIZE("head_dim", head_size, HEAD_SIZE_MAX, 128),
    POSITIONS(262144),
    SIZE("sliding_window", window, TOKENS_MAX, 512),
    LISTED_WINDOWS,
    SIZE("attention_other_setting.num_attention_heads", near_heads, HEADS_MAX, 0),
    SIZE("attention_other_setting.num_attention_groups", near_kv_heads, HEADS_MAX, 0),
    SIZE("attention_other_setting.head_dim", near_head_size, HEAD_SIZE_MAX, 0),
    FLAG("use_head_wise_attn_gate", out_gate, 1),
    CONSTANT(gate_by_head, 1),
    CONSTANT(qk_norm, 1),
    SIZE("moe_num_experts", experts, EXPERTS_MAX, 288),
    SIZE("moe_top_k", experts_per_token, EXPERTS_MAX, 8),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, 1280),
    COUNT("share_expert_dim", shared_ffn, WIDTH_MAX, 1280),
    CONSTANT(dense_layers, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* MiMo-V2-Flash (arXiv 2601.02780): keys and values of two sizes; layers of a window, one in `hybrid_layer_pattern`,
 * have heads of their own. Attention sinks are left out. */
static const RhField MIMO_V2[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 192),
    SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, 128),
    SIZE("swa_num_attention_heads", near_heads, HEADS_MAX, 0),
    SIZE("swa_num_key_value_heads", near_kv_heads, HEADS_MAX, 0),
    SIZE("swa_head_dim", near_head_size, HEAD_SIZE_MAX, 0),
    SIZE("swa_v_head_dim", near_value_size, HEAD_SIZE_MAX, 0),
    POSITIONS(32768),
    ATTENTION_BIAS(0),
    WINDOW(0),
    LISTED_WINDOWS,
    NULLABLE("n_routed_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    NULLABLE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 0),
    COUNT("n_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord NEAR_WORDS[] = {
    {.word = "full_attention"},
    {.word = "attention"},
    {.word = "sliding_attention",
     .slides = true,
     .figures = {{AT(heads), AT(near_heads)},
                 {AT(kv_heads), AT(near_kv_heads)},
                 {AT(head_size), AT(near_head_size)},
                 {AT(value_size), AT(near_value_size)}}},
    {0},
};

/* Laguna (Poolside, 2026): heads of each layer's own number, their output scaled by a number each, or by one a
 * column. */
static const RhField LAGUNA[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    SIZE("num_attention_heads_per_layer", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    POSITIONS(131072),
    FLAG("qkv_bias", qkv_bias, 0),
    FLAG("attention_bias", out_bias, 0),
    WINDOW(512),
    LISTED_WINDOWS,
    SAID("gating", out_gate, 1),
    MAY_BEGIN("gating", gate_by_column, "per-element"),
    CONSTANT(qk_norm, 1),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 512),
    CONSTANT(dense_layers, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* Hunyuan 3 (Tencent, 2026): GLM-4.5's shape under other names. */
static const RhField HY_V3[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    CONSTANT(qk_norm, 1),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 1),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* Mellum 2 (arXiv 2605.31268): Qwen 3's mixture with windows. */
static const RhField MELLUM[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    WINDOW(1024),
    ATTENTION_BIAS(0),
    LISTED_WINDOWS,
    QWEN_EXPERTS,
    CONSTANT(qk_norm, 1),
    END,
};

/* Klear (Kuaishou, 2025): Qwen 3's mixture with shared experts, which a matrix of two columns weighs. */
static const RhField KLEAR[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(65536),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    QWEN_EXPERTS,
    COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 1),
    CONSTANT(shared_gate, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* Command A+ (Cohere, 2026): windows but in every fourth layer; experts beside attention, which are read as behind it, a norm
 * more a layer; dense layers before them. */
static const RhField COHERE2_MOE[] = {
    LLAMA_SIZES,
    HEADS(0, 128),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    WINDOW(4096),
    CONSTANT(window_used, 1),
    SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 4),
    EXPERTS("num_experts"),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 0),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0),
    SIZE("prefix_dense_intermediate_size", dense_ffn, WIDTH_MAX, 0),
    CONSTANT(parallel, 1),
    END,
};

/* Inkling (Thinking Machines, 2026): windows but in every sixth layer, with key-value heads of their own number. Scores have a
 * part by distance, and there are convolutions of four taps; both are left out: 0.04 % of the parameters. */
static const RhField INKLING[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    SIZE("swa_num_attention_heads", near_heads, HEADS_MAX, 0),
    SIZE("swa_num_key_value_heads", near_kv_heads, HEADS_MAX, 0),
    SIZE("swa_head_dim", near_head_size, HEAD_SIZE_MAX, 0),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 131072),
    SIZE("sliding_window", window, TOKENS_MAX, RH_FIELD_REQUIRED),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 6),
    CONSTANT(qk_norm, 1),
    CONSTANT(embedding_norm, 1),
    EXPERTS("n_routed_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("n_shared_experts", shared_experts, EXPERTS_MAX, 2),
    COUNT("dense_mlp_idx", dense_layers, LAYERS_MAX, 0),
    COUNT("dense_intermediate_size", dense_ffn, WIDTH_MAX, 0),
    CONSTANT(router_bias, 1),
    END,
};

static const RhLayerWord INKLING_WORDS[] = {
    {.word = "hybrid"},
    {.word = "full_attention"},
    {.word = "hybrid_sliding",
     .slides = true,
     .figures = {{AT(heads), AT(near_heads)},
                 {AT(kv_heads), AT(near_kv_heads)},
                 {AT(head_size), AT(near_head_size)}}},
    {0},
};

/* ERNIE 4.5's models that see (Baidu, 2025): experts of their own, and narrower, for tokens of pictures. Its first files say
 * figures of both in pairs. */
static const RhField ERNIE4_5_VL[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(131072),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("use_bias", qkv_bias, 0),
    FIRST("moe_num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SECOND("moe_num_experts", other_experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    FIRST("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SECOND("moe_intermediate_size", other_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_k", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    COUNT("moe_num_shared_experts", shared_experts, EXPERTS_MAX, 2),
    SIZE("moe_layer_interval", expert_step, LAYERS_MAX, 1),
    FIRST("moe_layer_start_index", dense_layers, LAYERS_MAX, 1),
    CONSTANT(router_bias, 1),
    END,
};

static void settle_laguna(RhConfig *c)
{
    c->gate_by_head = !c->gate_by_column;
}

#define DECODER(name, mixer, fields)                                                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &mixer, &rh_ffn, fields, NULL, "sliding_attention", \
            NULL                                                                                   \
    }

#define MINIMAX_M3_ROW(name)                                                                       \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MINIMAX_M3,                 \
            MINIMAX_M3_WORDS, "minimax_m3_sparse", NULL                                            \
    }

const RhFamily rh_families_listed[] = {
    {"cohere2_moe", RH_NORM_LAYER, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, COHERE2_MOE, NULL,
     "sliding_attention", NULL},
    DECODER("ernie4_5_moe_vl", rh_attention, ERNIE4_5_VL),
    DECODER("ernie4_5_vl_moe_text", rh_attention, ERNIE4_5_VL),
    DECODER("hy_v3", rh_attention, HY_V3),
    {"inkling_text", RH_NORM_RMS, RH_POSITION_NONE, &rh_attention, &rh_ffn, INKLING, INKLING_WORDS,
     "hybrid_sliding", NULL},
    DECODER("Klear", rh_attention, KLEAR),
    {"laguna", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention_gated, &rh_ffn, LAGUNA, NULL,
     "sliding_attention", settle_laguna},
    DECODER("mellum", rh_attention, MELLUM),
    {"mimo_v2_flash", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MIMO_V2, NEAR_WORDS,
     "sliding_attention", NULL},
    MINIMAX_M3_ROW("minimax_m3"),
    MINIMAX_M3_ROW("minimax_m3_vl_text"),
    {"step3p5", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention_gated, &rh_ffn, STEP3_5, NEAR_WORDS,
     "sliding_attention", NULL},
    DECODER("step3_text", rh_attention_factored, STEP3),
    {0},
};
