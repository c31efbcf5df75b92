/* Families whose layers are attention and one feed-forward network. Keys and defaults are those of
 * Hugging Face transformers (configuration_llama.py and its siblings); where a default there is the
 * size of one particular model, the key is required here. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* phi3, granite, olmo, starcoder, internlm and many others: a llama with a switch or two. */
static const RhField LLAMA[] = {
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(2048), ATTENTION_BIAS(0), FLAG("mlp_bias", ffn_bias, 0),
    END,
};

/* configuration_nemotron.py: one way up with a squared ReLU, layer norms. */
static const RhField NEMOTRON[] = {
    LLAMA_SIZES,       CONSTANT(ffn_gated, 0),        HEADS(0, 0), POSITIONS(4096),
    ATTENTION_BIAS(0), FLAG("mlp_bias", ffn_bias, 0), END,
};

/* Jais 2 (inceptionai, 2025): the same with biases. */
static const RhField JAIS2[] = {
    LLAMA_SIZES,       CONSTANT(ffn_gated, 0),        HEADS(0, 0), POSITIONS(8192),
    ATTENTION_BIAS(1), FLAG("mlp_bias", ffn_bias, 1), END,
};

/* ERNIE 4.5 (Baidu, 2025) and PaddleOCR-VL's decoder. */
static const RhField ERNIE4_5[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("use_bias", qkv_bias, 0),
    FLAG("use_bias", out_bias, 0),
    FLAG("use_bias", ffn_bias, 0),
    END,
};

/* Chameleon (arXiv 2405.09818): norms of queries and keys; those have biases, which are left out, and so are scales
 * of more than a head. */
static const RhField CHAMELEON[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

/* Apertus (arXiv 2509.14233): the same with norms of queries and keys; its activation has two trained
 * numbers a layer, which are left out. */
static const RhField APERTUS[] = {
    LLAMA_SIZES,       CONSTANT(ffn_gated, 0),        HEADS(0, 0),          POSITIONS(65536),
    ATTENTION_BIAS(0), FLAG("mlp_bias", ffn_bias, 0), CONSTANT(qk_norm, 1), END,
};

/* Transformers writes a configuration without what is at its default, which is that of Mistral-7B v0.1: a window
 * of 4,096 (configuration_mistral.py). Later models say null. */
static const RhField MISTRAL[] = {
    LLAMA_SIZES,  HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(131072),
    WINDOW(4096), CONSTANT(window_used, 1),    END,
};

/* phi3, starcoder2 and others: kv heads as many as heads unless said. */
static const RhField PHI3[] = {
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(4096), WINDOW(0), CONSTANT(window_used, 1), END,
};

/* Code World Model (arXiv 2510.02387). */
static const RhField CWM[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    WINDOW(8192),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(full_at, 1),
    END,
};

/* Seed-OSS (ByteDance, 2025): a switch of its own for the bias of what attention puts out. SmolLM 3 (Hugging Face, 2025) and
 * Emu 3 (arXiv 2409.18869): fewer key-value heads than transformers would take for a llama's. */
static const RhField SEED_OSS[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(524288),
    FLAG("attention_bias", qkv_bias, 1),
    FLAG("attention_out_bias", out_bias, 0),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

static const RhField SMOLLM3[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(32768),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    FLAG("use_sliding_window", window_used, 0),
    WINDOW(0),
    CONSTANT(window_from, LAYERS_MAX),
    END,
};

static const RhField EMU3[] = {
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(9216), ATTENTION_BIAS(0), END,
};

static const RhField PHI4_MULTIMODAL[] = {
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(131072),
    WINDOW(0),   CONSTANT(window_used, 1),    END,
};

#define QWEN_WINDOW                                                                                \
    FLAG("use_sliding_window", window_used, 0), WINDOW(4096),                                      \
        COUNT("max_window_layers", window_from, LAYERS_MAX, 28)

static const RhField QWEN2[] = {
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(32768),
    QWEN_WINDOW, CONSTANT(qkv_bias, 1),       END,
};

static const RhField QWEN3[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(32768),
    QWEN_WINDOW,
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    END,
};

/* InternLM's first and third, Qwen's first: switches for biases under names of their own; Qwen counts
 * the columns of both matrices into the ffn as one width. */
static const RhField INTERNLM[] = {
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(2048), FLAG("bias", qkv_bias, 1), FLAG("bias", out_bias, 1),
    END,
};

static const RhField INTERNLM3[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(32768),
    FLAG("qkv_bias", qkv_bias, 0),
    FLAG("bias", out_bias, 0),
    FLAG("bias", ffn_bias, 0),
    END,
};

static const RhField QWEN[] = {
    STACK_SIZES,
    LLAMA_SWITCHES,
    SIZE("intermediate_size", ffn_both, 2 * WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("seq_length", positions, TOKENS_MAX, 8192),
    CONSTANT(qkv_bias, 1),
    END,
};

static const RhField HUNYUAN[] = {
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(2048), ATTENTION_BIAS(0), CONSTANT(qk_norm, 1), END,
};

/* HunyuanOCR's decoder: the same, tied. */
static const RhField HUNYUAN_VL[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    CONSTANT(qk_norm, 1),
    END,
};

/* MiniCPM (arXiv 2404.06395): a llama whose embeddings are tied unless it says not. */
static const RhField MINICPM[] = {
    LLAMA_SIZES,       HEADS(0, 0), POSITIONS(2048), FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0), END,
};

/* Granite with windows (IBM, 2026): the first of every four layers looks at all; attention sinks are left out. */
static const RhField GRANITE_SWA[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    WINDOW(128),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(full_at, 1),
    END,
};

/* OLMo 2 and 3: norms behind the blocks and not before, and of all heads of queries and keys together.
 */
static const RhField OLMO2[] = {
    LLAMA_SIZES,       HEADS(0, 0),          POSITIONS(2048),          WINDOW(0),
    ATTENTION_BIAS(0), CONSTANT(qk_norm, 1), CONSTANT(window_used, 1), END,
};

/* EXAONE 4 (arXiv 2507.11407): norms as OLMo 2's; where there is a window, every fourth layer looks at
 * all. */
static const RhField EXAONE4[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(131072),
    WINDOW(0),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(qk_norm, 1),
    END,
};

/* ChatGLM 2 and 3, GLM-4's first (arXiv 2406.12793): Megatron's names of keys. */
static const RhField CHATGLM[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(2048),
    FLAG("add_qkv_bias", qkv_bias, 0),
    FLAG("add_bias_linear", out_bias, 0),
    FLAG("add_bias_linear", ffn_bias, 0),
    FLAG("multi_query_attention", many_kv_heads, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    END,
};

/* MiniCPM 3: latent attention before a dense network. Keys without a size of values: a head's part of the
 * hidden state. */
static const RhField MINICPM3[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    NULLABLE("q_lora_rank", q_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("kv_lora_rank", kv_rank, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_nope_head_dim", nope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("qk_rope_head_dim", rope_size, HEAD_SIZE_MAX, RH_FIELD_REQUIRED),
    SIZE("v_head_dim", value_size, HEAD_SIZE_MAX, 0),
    POSITIONS(32768),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    END,
};

static const RhField GEMMA[] = {
    LLAMA_SIZES,       HEADS(0, 256), POSITIONS(8192), FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0), END,
};

/* Gemma 2 and 3 (arXiv 2408.00118, 2503.19786): a norm before and one behind each block; layers of a
 * sliding window, every second or sixth without. */
#define GEMMA2_SIZES                                                                               \
    LLAMA_SIZES, HEADS(RH_FIELD_REQUIRED, 256), FLAG("tie_word_embeddings", tied, 1),              \
        ATTENTION_BIAS(0), CONSTANT(window_used, 1), CONSTANT(extra_norms, 1)

static const RhField GEMMA2[] = {
    GEMMA2_SIZES, POSITIONS(8192), WINDOW(4096), CONSTANT(full_every, 2), END,
};

static const RhField GEMMA3[] = {
    GEMMA2_SIZES,         POSITIONS(131072),
    WINDOW(4096),         SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 6),
    CONSTANT(qk_norm, 1), END,
};

/* VaultGemma (Google, 2025): Gemma 2 without the norms behind blocks. */
static const RhField VAULTGEMMA[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 256),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    SIZE("sliding_window", window, TOKENS_MAX, 4096),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 2),
    END,
};

/* nanochat (github.com/karpathy/nanochat, 2025): squared ReLU, norms of queries and keys; its norms have
 * no scales, which are counted. */
static const RhField NANOCHAT[] = {
    LLAMA_SIZES,       CONSTANT(ffn_gated, 0), HEADS(0, 0), POSITIONS(2048),
    ATTENTION_BIAS(0), CONSTANT(qk_norm, 1),   END,
};

/* BitNet b1.58 (arXiv 2504.12285): trained in 16 bits, with a norm before each block's last matrix, which
 * is counted as one of the hidden state. */
static const RhField BITNET[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 0),
    ATTENTION_BIAS(0),
    CONSTANT(extra_norms, 1),
    END,
};

/* Command-R: attention and ffn side by side behind one norm; its second generation (arXiv 2504.00698) with windows but
 * in every fourth layer, and North's decoder, where a list says which. */
#define COHERE_SIZES                                                                               \
    LLAMA_SIZES, HEADS(0, 0), POSITIONS(8192), FLAG("tie_word_embeddings", tied, 1),               \
        ATTENTION_BIAS(0), CONSTANT(parallel, 1)

static const RhField COHERE[] = {COHERE_SIZES, FLAG("use_qk_norm", qk_norm, 0), END};

static const RhField COHERE2[] = {
    COHERE_SIZES,
    WINDOW(4096),
    CONSTANT(window_used, 1),
    SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 4),
    END,
};

static const RhField COHERE_COMPASS[] = {
    COHERE_SIZES, WINDOW(4096), CONSTANT(window_used, 1), CONSTANT(window_from, LAYERS_MAX), END,
};

static const RhField STARCODER2[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(4096),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("use_bias", qkv_bias, 1),
    FLAG("use_bias", out_bias, 1),
    FLAG("use_bias", ffn_bias, 1),
    WINDOW(0),
    CONSTANT(window_used, 1),
    RATE("residual_dropout", hidden_dropout, 0),
    END,
};

static const RhField STABLELM[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(4096),
    FLAG("use_qkv_bias", qkv_bias, 0),
    FLAG("qk_layernorm", qk_norm, 0),
    FLAG("use_parallel_residual", parallel, 0),
    END,
};

/* GLM-4 and GLM (arXiv 2406.12793): biases of q, k, v; GLM-4-0414 with norms before and behind. */
static const RhField GLM4[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    FLAG("attention_bias", qkv_bias, 0),
    CONSTANT(extra_norms, 1),
    END,
};

/* The decoders of its models that see: a head's part of the hidden state unless said. */
static const RhField GLM4V[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(131072),
    FLAG("attention_bias", qkv_bias, 0),
    CONSTANT(extra_norms, 1),
    END,
};

/* Muse Glimmer (Meta, 2026): norms as Gemma 2's, attention whose output is scaled, windows but in the last of every four layers,
 * counted from the model's end. */
static const RhField MUSE_GLIMMER[] = {
    LLAMA_SIZES,
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    ATTENTION_BIAS(0),
    WINDOW(2048),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 4),
    CONSTANT(out_gate, 1),
    CONSTANT(extra_norms, 1),
    END,
};

/* Cosmos 3's decoder (NVIDIA, 2026): squared ReLU. */
static const RhField COSMOS3[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    HEADS(RH_FIELD_REQUIRED, 128),
    POSITIONS(131072),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    END,
};

/* Ettin's decoders (arXiv 2507.11412): ModernBERT under a causal mask. */
static const RhField MODERNBERT_DECODER[] = {
    LLAMA_SIZES,
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("global_attn_every_n_layers", full_every, LAYERS_MAX, 3),
    CONSTANT(full_at, 1),
    WINDOW(128),
    CONSTANT(window_used, 1),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    CONSTANT(embedding_norm, 1),
    END,
};

/* DeciLM (Deci, 2023): a llama whose layers have key-value heads of their own number. */
static const RhField DECI[] = {
    LLAMA_SIZES,
    SIZE("num_key_value_heads_per_layer", kv_heads, HEADS_MAX, 0),
    POSITIONS(4096),
    ATTENTION_BIAS(0),
    END,
};

/* Phi-3-small (arXiv 2404.14219): every second layer looks at blocks: those of a window and of the rest
 * one in `vert_stride`. What it sees is taken as a window of as many tokens as the last query of a sample
 * of all positions has. */
static const RhField PHI3SMALL[] = {
    STACK_SIZES,
    HEADS(RH_FIELD_REQUIRED, 0),
    POSITIONS(8192),
    SIZE("ff_intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("dense_attention_every_n_layers", full_every, LAYERS_MAX, 2),
    SIZE("blocksparse_block_size", sparse_block, TOKENS_MAX, 64),
    SIZE("blocksparse_num_local_blocks", sparse_near, TOKENS_MAX, 16),
    SIZE("blocksparse_vert_stride", sparse_stride, TOKENS_MAX, 8),
    CONSTANT(window_used, 1),
    CONSTANT(ffn_gated, 1),
    ALL_BIASED,
    END,
};

/* Molmo (arXiv 2409.17146): the decoder of OLMo or Qwen 2 under OLMo's own names. 128 rows that pictures add to
 * the table are left out. */
static const RhField MOLMO[] = {
    STACK_SIZES,
    HEADS(0, 0),
    SIZE("intermediate_size", ffn_both, 2 * WIDTH_MAX, RH_FIELD_REQUIRED),
    POSITIONS(2048),
    FLAG("weight_tying", tied, 0),
    FLAG("qkv_bias", qkv_bias, 0),
    FLAG("attention_layer_norm", qk_norm, 0),
    CONSTANT(ffn_gated, 1),
    END,
};

static void settle_phi3small(RhConfig *c)
{
    int64_t near = MIN(c->sparse_near * c->sparse_block, c->positions);
    c->window = near + (c->positions - near) / MAX(c->sparse_stride, 1);
}

static void settle_muse_glimmer(RhConfig *c)
{
    c->full_at = (c->layers - 1) % c->full_every + 1;
}

static void settle_chatglm(RhConfig *c)
{
    if (!c->many_kv_heads)
        c->kv_heads = c->heads;
}

static void settle_qwen(RhConfig *c)
{
    if (c->ffn == 0)
        c->ffn = MAX(c->ffn_both / 2, 1);
}

static void settle_minicpm3(RhConfig *c)
{
    if (c->value_size == 0)
        c->value_size = c->hidden / MAX(c->heads, 1);
}

#define DECODER(name, norm, position, fields)                                                      \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &rh_attention, &rh_ffn, fields, NULL,        \
            "sliding_attention", NULL                                                              \
    }
/* Heads work in pairs. */
static void settle_diffllama(RhConfig *c)
{
    c->paired_heads = 1;
}

#define DECODER_OF(name, norm, position, mixer, fields, settle)                                    \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &mixer, &rh_ffn, fields, NULL,               \
            "sliding_attention", settle                                                            \
    }

const RhFamily rh_families_dense[] = {
    DECODER("apertus", RMS, ROTARY, APERTUS),
    DECODER("aquila", RMS, ROTARY, LLAMA),
    DECODER("arcee", RMS, ROTARY, NEMOTRON),
    DECODER("baichuan", RMS, ROTARY, LLAMA),
    DECODER("bitnet", RMS, ROTARY, BITNET),
    DECODER("chameleon", RMS, ROTARY, CHAMELEON),
    DECODER_OF("chatglm", RMS, ROTARY, rh_attention, CHATGLM, settle_chatglm),
    DECODER("code_llama", RMS, ROTARY, LLAMA),
    DECODER("cohere", LAYER, ROTARY, COHERE),
    DECODER("cohere2", LAYER, ROTARY, COHERE2),
    DECODER("cohere_compass_text", LAYER, ROTARY, COHERE_COMPASS),
    DECODER("cosmos3_edge_text", RMS, ROTARY, COSMOS3),
    DECODER("cwm", RMS, ROTARY, CWM),
    DECODER("deci", RMS, ROTARY, DECI),
    DECODER("dots_ocr", RMS, ROTARY, QWEN2),
    DECODER_OF("diffllama", RMS, ROTARY, rh_attention_differential, LLAMA, settle_diffllama),
    DECODER("emu3_text_model", RMS, ROTARY, EMU3),
    DECODER("ernie4_5", RMS, ROTARY, ERNIE4_5),
    DECODER("exaone", RMS, ROTARY, LLAMA),
    DECODER("exaone4", RMS, ROTARY, EXAONE4),
    DECODER("gemma", RMS, ROTARY, GEMMA),
    DECODER("gemma2", RMS, ROTARY, GEMMA2),
    DECODER("gemma3", RMS, ROTARY, GEMMA3),
    DECODER("gemma3_text", RMS, ROTARY, GEMMA3),
    DECODER("glm", RMS, ROTARY, QWEN2),
    DECODER("glm4", RMS, ROTARY, GLM4),
    DECODER("glm4v_text", RMS, ROTARY, GLM4V),
    DECODER("glm_image_text", RMS, ROTARY, GLM4V),
    DECODER("glm_ocr_text", RMS, ROTARY, GLM4V),
    DECODER("granite", RMS, ROTARY, LLAMA),
    DECODER("granite4_vision_text", RMS, ROTARY, LLAMA),
    DECODER("granite_swa", RMS, ROTARY, GRANITE_SWA),
    DECODER("helium", RMS, ROTARY, LLAMA),
    DECODER("hunyuan_v1_dense", RMS, ROTARY, HUNYUAN),
    DECODER("hunyuan_vl", RMS, ROTARY, HUNYUAN_VL),
    DECODER("hunyuan_vl_text", RMS, ROTARY, HUNYUAN_VL),
    DECODER("hyperclovax", RMS, ROTARY, LLAMA),
    DECODER("internlm", RMS, ROTARY, INTERNLM),
    DECODER("internlm2", RMS, ROTARY, LLAMA),
    DECODER("internlm3", RMS, ROTARY, INTERNLM3),
    DECODER("jais2", LAYER, ROTARY, JAIS2),
    DECODER("llama", RMS, ROTARY, LLAMA),
    DECODER("llava_llama", RMS, ROTARY, LLAMA),
    DECODER("llava_mistral", RMS, ROTARY, MISTRAL),
    DECODER("llava_qwen", RMS, ROTARY, QWEN2),
    DECODER("llava_qwen2", RMS, ROTARY, QWEN2),
    DECODER("mimo", RMS, ROTARY, QWEN2),
    DECODER("minicpm", RMS, ROTARY, MINICPM),
    DECODER_OF("minicpm3", RMS, ROTARY, rh_latent_attention, MINICPM3, settle_minicpm3),
    DECODER("ministral", RMS, ROTARY, MISTRAL),
    DECODER("ministral3", RMS, ROTARY, MISTRAL),
    DECODER("mistral", RMS, ROTARY, MISTRAL),
    DECODER("mistral3", RMS, ROTARY, MISTRAL),
    DECODER("modernbert-decoder", LAYER, ROTARY, MODERNBERT_DECODER),
    DECODER_OF("molmo", RMS, ROTARY, rh_attention, MOLMO, settle_qwen),
    DECODER_OF("muse_glimmer_text", RMS, ROTARY, rh_attention_gated, MUSE_GLIMMER,
               settle_muse_glimmer),
    DECODER("nanochat", RMS, ROTARY, NANOCHAT),
    DECODER("nemotron", LAYER, ROTARY, NEMOTRON),
    DECODER("olmo", LAYER, ROTARY, LLAMA),
    DECODER("olmo2", RMS, ROTARY, OLMO2),
    DECODER("olmo3", RMS, ROTARY, OLMO2),
    DECODER("orion", LAYER, ROTARY, LLAMA),
    DECODER("PanguEmbedded", RMS, ROTARY, INTERNLM),
    DECODER("paddleocr_vl_text", RMS, ROTARY, ERNIE4_5),
    DECODER("phi3", RMS, ROTARY, PHI3),
    DECODER("phi3_v", RMS, ROTARY, PHI3),
    DECODER_OF("phi3small", LAYER, ROTARY, rh_attention, PHI3SMALL, settle_phi3small),
    DECODER("phi4_multimodal", RMS, ROTARY, PHI4_MULTIMODAL),
    DECODER("phi4mm", RMS, ROTARY, PHI3),
    DECODER_OF("qwen", RMS, ROTARY, rh_attention, QWEN, settle_qwen),
    DECODER("qwen2", RMS, ROTARY, QWEN2),
    DECODER("qwen2_5_omni_text", RMS, ROTARY, QWEN2),
    DECODER("qwen2_5_vl_text", RMS, ROTARY, QWEN2),
    DECODER("qwen2_vl", RMS, ROTARY, QWEN2),
    DECODER("qwen2_vl_text", RMS, ROTARY, QWEN2),
    DECODER("qwen3", RMS, ROTARY, QWEN3),
    DECODER("qwen3_vl_text", RMS, ROTARY, QWEN3),
    DECODER("sdar", RMS, ROTARY, QWEN3),
    DECODER("seed_oss", RMS, ROTARY, SEED_OSS),
    DECODER("skywork", RMS, ROTARY, LLAMA),
    DECODER("smollm3", RMS, ROTARY, SMOLLM3),
    DECODER("stablelm", LAYER, ROTARY, STABLELM),
    DECODER("stablelm_epoch", LAYER, ROTARY, STABLELM),
    DECODER("starcoder2", LAYER, ROTARY, STARCODER2),
    DECODER("telechat3", RMS, ROTARY, LLAMA),
    DECODER("vaultgemma", RMS, ROTARY, VAULTGEMMA),
    DECODER("Yi", RMS, ROTARY, LLAMA),
    DECODER("xverse", RMS, ROTARY, LLAMA),
    {0},
};
