/* Families with mixtures of experts. Keys and defaults as in families_dense.c. Heads that predict
 * further tokens (num_nextn_predict_layers) are left out. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* intermediate_size is an expert's width. */
static const RhField MIXTRAL[] = {
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(131072),
    WINDOW(0),   CONSTANT(window_used, 1),    EXPERTS("num_local_experts"),
    END,
};

/* JetMoE (arXiv 2404.07413): attention's queries and outputs are experts', too, as many and as often asked; keys have
 * `kv_channels` columns. How many heads of queries there are follows. */
static const RhField JETMOE[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("kv_channels", head_size, HEAD_SIZE_MAX, 128),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("rope_theta", rotary_base, BASE_MAX, 10000),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("attention_dropout", attention_dropout, 0),
    POSITIONS(4096),
    EXPERTS("num_local_experts"),
    CONSTANT(ffn_gated, 1),
    END,
};

/* OLMoE: the same with norms of queries and keys. */
static const RhField OLMOE[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    EXPERTS("num_experts"),
    END,
};

/* Granite's mixtures with a dense network beside the experts. */
static const RhField GRANITEMOE_SHARED[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(2048),
    ATTENTION_BIAS(0),
    EXPERTS("num_local_experts"),
    COUNT("shared_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    END,
};

static const RhField PHIMOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    WINDOW(0),
    CONSTANT(window_used, 1),
    EXPERTS("num_local_experts"),
    END,
};

/* Grok-1 (github.com/xai-org/grok-1, 2024-03): norms before and behind each block. Grok-2 (2025-08): experts of a
 * width of their own, and a dense network beside them, which is a shared expert. */
static const RhField GROK_1[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(extra_norms, 1),
    EXPERTS("num_experts"),
    COUNT("moe_intermediate_size", expert_ffn, WIDTH_MAX, 0),
    FLAG("residual_moe", shared_experts, 0),
    END,
};

/* Granite's with windows (IBM, 2026); its attention sinks are left out. */
static const RhField GRANITEMOE_SWA[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(2048),
    ATTENTION_BIAS(0),
    WINDOW(128),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(full_at, 1),
    EXPERTS("num_local_experts"),
    COUNT("shared_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    END,
};

/* Norms of queries and keys are over all heads together; a GPU's work is the same. */
static const RhField MINIMAX_M2[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(196608),
    FLAG("use_qk_norm", qk_norm, 0),
    EXPERTS("num_local_experts"),
    FLAG("use_routing_bias", router_bias, 0),
    END,
};

/* One attention sink a head is left out. */
static const RhField GPT_OSS[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 64),
    POSITIONS(131072),
    ATTENTION_BIAS(1),
    CONSTANT(ffn_bias, 1),
    WINDOW(128),
    CONSTANT(window_used, 1),
    EXPERTS("num_local_experts"),
    CONSTANT(router_bias, 1),
    END,
};

#define QWEN_WINDOW                                                                                \
    FLAG("use_sliding_window", window_used, 0), WINDOW(4096),                                      \
        COUNT("max_window_layers", window_from, LAYERS_MAX, 28)

static const RhField QWEN2_MOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(32768),
    QWEN_WINDOW,
    FLAG("qkv_bias", qkv_bias, 1),
    QWEN_EXPERTS,
    COUNT("shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    CONSTANT(shared_gate, 1),
    END,
};

static const RhField QWEN3_MOE[] = {
    LLAMA_SIZES,       HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(32768), QWEN_WINDOW,
    ATTENTION_BIAS(0), CONSTANT(qk_norm, 1),        QWEN_EXPERTS,     END,
};

/* How many experts are shared and how many layers are dense, transformers has a default for. Files of the first two
 * generations without experts leave their number out, or say null; an expert's width has a default there. */
#define DEEPSEEK_EXPERTS_OF(routed, width, shared, dense)                                          \
    NULLABLE("n_routed_experts", experts, EXPERTS_MAX, routed),                                    \
        NULLABLE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, 0),                        \
        NULLABLE("moe_intermediate_size", expert_ffn, WIDTH_MAX, width),                           \
        NULLABLE("n_shared_experts", shared_experts, EXPERTS_MAX, shared),                         \
        COUNT("n_group", expert_groups, EXPERTS_MAX, 0),                                           \
        COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),                                 \
        SIZE("moe_layer_freq", expert_step, LAYERS_MAX, 1),                                        \
        NULLABLE("first_k_dense_replace", dense_layers, LAYERS_MAX, dense)
#define DEEPSEEK_EXPERTS(shared, dense)                                                            \
    DEEPSEEK_EXPERTS_OF(RH_FIELD_REQUIRED, RH_FIELD_REQUIRED, shared, dense)

/* Queries without a latent: null. */
#define LATENT_SIZES                                                                               \
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),                                           \
        NULLABLE("q_lora_rank", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                             \
        SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),                               \
        SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),                     \
        SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED)
#define LATENT_DECODER                                                                             \
    LLAMA_SIZES, LATENT_SIZES, POSITIONS(2048), ATTENTION_BIAS(0), FLAG("mlp_bias", ffn_bias, 0)
#define DEEPSEEK_SIZES(dense_otherwise) LATENT_DECODER, DEEPSEEK_EXPERTS(1, dense_otherwise)

static const RhField DEEPSEEK_V2[] = {
    LATENT_DECODER,
    DEEPSEEK_EXPERTS_OF(0, 1407, 2, 0),
    END,
};
static const RhField MISTRAL_4[] = {DEEPSEEK_SIZES(0), END};

/* Experts are chosen by their scores and a bias each (arXiv 2408.15664). A.X K1 (SK Telecom, 2026) has a norm
 * behind the experts, which is left out. */
static const RhField DEEPSEEK_V3[] = {DEEPSEEK_SIZES(3), CONSTANT(router_bias, 1), END};
static const RhField AXK1[] = {DEEPSEEK_SIZES(1), CONSTANT(router_bias, 1), END};

/* Youtu-LLM (Tencent, 2025): latent attention before a dense network. */
static const RhField YOUTU[] = {LATENT_DECODER, FLAG("tie_word_embeddings", tied, 1), END};

/* DeepSeek Sparse Attention (arXiv 2512.02556): an indexer leaves each query some keys. */
static const RhField DEEPSEEK_V32[] = {
    DEEPSEEK_SIZES(3),
    CONSTANT(router_bias, 1),
    SIZE("index_n_heads", index_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("index_head_dim", index_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("index_topk", index_top, TOKENS_MAX, RH_FIELD_REQUIRED),
    END,
};

static const RhLayerWord SPARSE_WORDS[] = {
    {.word = "full_attention"},
    {.word = "deepseek_sparse_attention"},
    {0},
};

/* GLM-4.5 (arXiv 2508.06471): DeepSeek's experts behind grouped queries; Solar Open (Upstage, 2025) without dense layers
 * and dots.llm1 (arXiv 2506.05767), with norms of queries and keys. */
#define GLM4_MOE_SIZES                                                                             \
    POSITIONS(131072), FLAG("attention_bias", qkv_bias, 0), FLAG("use_qk_norm", qk_norm, 0),       \
        CONSTANT(router_bias, 1)

static const RhField GLM4_MOE[] = {
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), GLM4_MOE_SIZES, DEEPSEEK_EXPERTS(1, 1), END,
};
static const RhField GLM4V_MOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(131072),
    FLAG("attention_bias", qkv_bias, 1),
    DEEPSEEK_EXPERTS(1, 1),
    CONSTANT(router_bias, 1),
    END,
};
static const RhField SOLAR_OPEN[] = {
    STACK_SIZES,
    LLAMA_SWITCHES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    HEADS(RH_FIELD_REQUIRED, 128),
    GLM4_MOE_SIZES,
    DEEPSEEK_EXPERTS(1, 0),
    END,
};
static const RhField DOTS1[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(2048),
    FLAG("attention_bias", qkv_bias, 0),
    CONSTANT(qk_norm, 1),
    DEEPSEEK_EXPERTS(0, 0),
    CONSTANT(router_bias, 1),
    END,
};

/* DeepSeekMoE (arXiv 2401.06066): the same without a router's bias. */
static const RhField DEEPSEEK[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(2048),
    ATTENTION_BIAS(0),
    DEEPSEEK_EXPERTS_OF(0, 1407, 0, 0),
    END,
};

/* K-EXAONE (LG, 2025): the same behind EXAONE 4's attention. */
static const RhField EXAONE_MOE[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(131072),
    WINDOW(4096),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(qk_norm, 1),
    DEEPSEEK_EXPERTS(1, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* Trinity (Arcee, 2025): attention with a gated output, norms before and behind blocks. */
static const RhField AFMOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(16384),
    SIZE("sliding_window", window, TOKENS_MAX, 1024),
    CONSTANT(window_used, 1),
    SIZE("global_attn_every_n_layers", full_every, LAYERS_MAX, 4),
    CONSTANT(qk_norm, 1),
    CONSTANT(out_gate, 1),
    CONSTANT(extra_norms, 1),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 2),
    COUNT("num_dense_layers", dense_layers, LAYERS_MAX, 1),
    CONSTANT(router_bias, 1),
    END,
};

/* LongCat-Flash (arXiv 2509.01322): a layer is two latent attentions and two dense networks, and experts
 * beside the first network, which count as its mixture with a shared expert. Of the experts that a token
 * asks for some hand it on as it is; in the mean, as many as there are of them. */
static const RhField LONGCAT[] = {
    SIZE("num_layers", layer_pairs, LAYERS_MAX / 2, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("rope_theta", rotary_base, BASE_MAX, 10000000),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    LLAMA_SWITCHES,
    LATENT_SIZES,
    POSITIONS(131072),
    ATTENTION_BIAS(0),
    SIZE("n_routed_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_topk", experts_asked, EXPERTS_MAX, RH_FIELD_REQUIRED),
    COUNT("zero_expert_num", zero_experts, EXPERTS_MAX, 0),
    SIZE("expert_ffn_hidden_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    CONSTANT(expert_step, 2),
    CONSTANT(router_bias, 1),
    END,
};

/* Ling, Ring and Ling 2 (arXiv 2503.05139, 2510.22115): DeepSeekMoE under other names; the second with
 * norms of queries and keys and a bias for each expert. */
#define BAILING                                                                                    \
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(16384), FLAG("use_qkv_bias", qkv_bias, 0),                 \
        FLAG("use_bias", out_bias, 0), FLAG("use_bias", ffn_bias, 0), EXPERTS("num_experts"),      \
        SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                   \
        COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 0),                               \
        COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0)

static const RhField BAILING_MOE[] = {BAILING, END};

static const RhField BAILING_MOE_V2[] = {
    BAILING,
    COUNT("moe_shared_expert_intermediate_size", shared_ffn, WIDTH_MAX, 0),
    COUNT("n_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    FLAG("use_qk_norm", qk_norm, 0),
    FLAG("moe_router_enable_expert_bias", router_bias, 0),
    END,
};

/* Hunyuan-A13B: figures of experts are numbers, or lists of as many as there are layers. */
static const RhField HUNYUAN_MOE[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(32768),
    ATTENTION_BIAS(0),
    FLAG("use_qk_norm", qk_norm, 1),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, 0),
    COUNT("num_shared_expert", shared_experts, EXPERTS_MAX, 1),
    END,
};

/* Hunyuan-Large (arXiv 2411.02265): the same, and layers in turn share keys and values (arXiv 2405.12981). */
static const RhField HUNYUAN_LARGE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(32768),
    ATTENTION_BIAS(0),
    FLAG("use_qk_norm", qk_norm, 0),
    FLAG("use_cla", share_used, 0),
    SIZE("cla_share_factor", share_every, LAYERS_MAX, 1),
    EXPERTS("num_experts"),
    COUNT("num_shared_expert", shared_experts, EXPERTS_MAX, 1),
    END,
};

/* DBRX (Databricks, 2024): layer norms without biases are counted with them. */
static const RhField DBRX[] = {
    STACK_SIZES,
    LLAMA_SWITCHES,
    SIZE("ffn_config.ffn_hidden_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("attn_config.kv_n_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(2048),
    SIZE("ffn_config.moe_num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("ffn_config.moe_top_k", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    END,
};

/* Arctic (Snowflake, 2024): a dense network as wide as the hidden state beside the experts, which is a
 * shared expert but for its norm. */
static const RhField ARCTIC[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(4096),
    FLAG("parallel_attn_mlp_res", shared_experts, 0),
    EXPERTS("num_local_experts"),
    SIZE("moe_layer_frequency", expert_step, LAYERS_MAX, 1),
    CONSTANT(expert_offset, -1),
    END,
};

static const RhField ERNIE4_5_MOE[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(131072),
    FLAG("tie_word_embeddings", tied, 1),
    EXPERTS("moe_num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("moe_num_shared_experts", shared_experts, EXPERTS_MAX, 2),
    SIZE("moe_layer_interval", expert_step, LAYERS_MAX, 1),
    COUNT("moe_layer_start_index", dense_layers, LAYERS_MAX, 1),
    SIGNED("moe_layer_end_index", expert_last, LAYERS_MAX, -1),
    FLAG("use_bias", qkv_bias, 0),
    CONSTANT(router_bias, 1),
    END,
};

/* Llama 4: three layers that look at chunks, one at all; experts in every `interleave`-th; dense
 * layers have a width of their own. Queries and keys that are rotated have norms without scales, as chunks' are. */
static const RhField LLAMA4[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    ATTENTION_BIAS(0),
    SIZE("attention_chunk_size", window, TOKENS_MAX, 8192),
    CONSTANT(window_used, 1),
    SIZE("no_rope_layer_interval", full_every, LAYERS_MAX, 4),
    FLAG("use_qk_norm", near_norms, 1),
    CONSTANT(bare_norms, 1),
    EXPERTS("num_local_experts"),
    SIZE("intermediate_size_mlp", dense_ffn, WIDTH_MAX, 0),
    SIZE("interleave_moe_layer_step", expert_step, LAYERS_MAX, 1),
    CONSTANT(expert_offset, -1),
    CONSTANT(shared_experts, 1),
    END,
};

#define CHUNKS(name)                                                                               \
    {                                                                                              \
        .word = name, .slides = true, .figures = { {AT(qk_norm), AT(near_norms)} }                 \
    }
static const RhLayerWord LLAMA4_WORDS[] = {
    {.word = "full_attention"},
    {.word = "attention"},
    CHUNKS("chunked_attention"),
    CHUNKS("sliding_attention"),
    {0},
};

/* Aria's decoder (arXiv 2410.05993): intermediate_size is an expert's width, also of a shared one. */
static const RhField ARIA[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(65536),
    ATTENTION_BIAS(0),
    SIZE("moe_num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("moe_topk", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED),
    COUNT("moe_num_shared_experts", shared_experts, EXPERTS_MAX, 2),
    END,
};

static void settle_hunyuan(RhConfig *c)
{
    if (!c->share_used)
        c->share_every = 0;
}

static void settle_grok(RhConfig *c)
{
    if (c->shared_experts > 0)
        c->shared_ffn = c->ffn;
}

static void settle_arctic(RhConfig *c)
{
    if (c->shared_experts > 0)
        c->shared_ffn = c->hidden;
}

/* Once: whoever sets layers to 4 wants four of ours. */
static void settle_longcat(RhConfig *c)
{
    int64_t all = c->experts + c->zero_experts;
    if (c->layers == 0)
        c->layers = 2 * c->layer_pairs;
    if (c->experts_per_token == 0)
        c->experts_per_token = MAX(c->experts_asked * c->experts / MAX(all, 1), 1);
    c->shared_ffn = c->ffn;
}

#define DECODER(name, mixer, fields)                                                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &mixer, &rh_ffn, fields, NULL, "sliding_attention", \
            NULL                                                                                   \
    }

#define SPARSE(name)                                                                               \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &rh_sparse_attention, &rh_ffn, DEEPSEEK_V32,        \
            SPARSE_WORDS, "deepseek_sparse_attention", NULL                                        \
    }

const RhFamily rh_families_experts[] = {
    DECODER("afmoe", rh_attention_gated, AFMOE),
    {"arctic", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, ARCTIC, NULL,
     "sliding_attention", settle_arctic},
    DECODER("aria_text", rh_attention, ARIA),
    DECODER("axk1", rh_latent_attention, AXK1),
    DECODER("bailing_moe", rh_attention, BAILING_MOE),
    DECODER("bailing_moe_v2", rh_attention, BAILING_MOE_V2),
    {"dbrx", RH_NORM_LAYER, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, DBRX, NULL,
     "sliding_attention", NULL},
    DECODER("deepseek", rh_attention, DEEPSEEK),
    DECODER("deepseek_v2", rh_latent_attention, DEEPSEEK_V2),
    DECODER("deepseek_v3", rh_latent_attention, DEEPSEEK_V3),
    DECODER("dots_vlm", rh_latent_attention, DEEPSEEK_V3),
    SPARSE("deepseek_v32"),
    DECODER("dots1", rh_attention, DOTS1),
    DECODER("ernie4_5_moe", rh_attention, ERNIE4_5_MOE),
    DECODER("exaone_moe", rh_attention, EXAONE_MOE),
    DECODER("flex_olmo", rh_attention, OLMOE),
    DECODER("glm4_moe", rh_attention, GLM4_MOE),
    DECODER("glm4_moe_lite", rh_latent_attention, AXK1),
    DECODER("glm4v_moe_text", rh_attention, GLM4V_MOE),
    SPARSE("glm_moe_dsa"),
    DECODER("gpt_oss", rh_attention, GPT_OSS),
    DECODER("granitemoe", rh_attention, MIXTRAL),
    DECODER("granitemoeshared", rh_attention, GRANITEMOE_SHARED),
    DECODER("granitemoe_swa", rh_attention, GRANITEMOE_SWA),
    {"grok-1", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, GROK_1, NULL,
     "sliding_attention", settle_grok},
    {"hunyuan", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, HUNYUAN_LARGE, NULL,
     "sliding_attention", settle_hunyuan},
    DECODER("hunyuan_v1_moe", rh_attention, HUNYUAN_MOE),
    DECODER("kimi_k2", rh_latent_attention, DEEPSEEK_V3),
    {"llama4_text", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, LLAMA4, LLAMA4_WORDS,
     "sliding_attention", NULL},
    {"longcat_flash", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_latent_attention, &rh_ffn, LONGCAT, NULL,
     "sliding_attention", settle_longcat},
    DECODER("minimax_m2", rh_attention, MINIMAX_M2),
    DECODER("mistral4", rh_latent_attention, MISTRAL_4),
    DECODER("mixtral", rh_attention, MIXTRAL),
    DECODER("olmoe", rh_attention, OLMOE),
    {"jetmoe", RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention_of_experts, &rh_ffn, JETMOE, NULL,
     "sliding_attention", NULL},
    {"phimoe", RH_NORM_LAYER, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, PHIMOE, NULL,
     "sliding_attention", NULL},
    DECODER("qwen2_moe", rh_attention, QWEN2_MOE),
    DECODER("qwen3_moe", rh_attention, QWEN3_MOE),
    DECODER("qwen3_omni_moe_text", rh_attention, QWEN3_MOE),
    DECODER("qwen3_vl_moe_text", rh_attention, QWEN3_MOE),
    DECODER("solar_open", rh_attention, SOLAR_OPEN),
    DECODER("youtu", rh_latent_attention, YOUTU),
    {0},
};
