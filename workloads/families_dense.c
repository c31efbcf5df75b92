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
    SIZE("q_lora_rank", q_rank, WIDTH_MAX, 0),
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
    HEADS(0, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),
    CONSTANT(extra_norms, 1),
    END,
};

/* Command-R: attention and ffn side by side behind one norm. */
static const RhField COHERE[] = {
    LLAMA_SIZES,           HEADS(0, 0),
    POSITIONS(8192),       FLAG("tie_word_embeddings", tied, 1),
    ATTENTION_BIAS(0),     FLAG("use_qk_norm", qk_norm, 0),
    WINDOW(4096),          SIZE("sliding_window_pattern", full_every, LAYERS_MAX, 4),
    CONSTANT(parallel, 1), END,
};

static const RhField STARCODER2[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    HEADS(0, 0),
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

/* 0 for n_inner: four times n_embd. */
#define GPT_SIZES                                                                                  \
    SIZE("n_layer", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                                        \
        SIZE("n_embd", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                      \
        SIZE("n_head", heads, HEADS_MAX, RH_FIELD_REQUIRED), SIZE("n_inner", ffn, WIDTH_MAX, 0),   \
        SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),                                   \
        RATE("resid_pdrop", hidden_dropout, 1), RATE("attn_pdrop", attention_dropout, 1)

static const RhField GPT2[] = {
    GPT_SIZES,
    SIZE("n_positions", positions, TOKENS_MAX, 1024),
    FLAG("tie_word_embeddings", tied, 1),
    ALL_BIASED,
    END,
};

/* GPT-Neo (EleutherAI, 2021): every second layer looks at a window; no biases of q, k and v. */
static const RhField GPT_NEO[] = {
    STACK_SIZES,
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    POSITIONS(2048),
    SIZE("window_size", window, TOKENS_MAX, 256),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 2),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("resid_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    END,
};

static const RhField GPT_BIGCODE[] = {
    GPT_SIZES,
    SIZE("n_positions", positions, TOKENS_MAX, 1024),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("multi_query", one_kv_head, 1),
    ALL_BIASED,
    END,
};

/* GPT-J: attention and ffn side by side behind one norm, attention without biases; its head's own bias
 * of V entries is left out. */
static const RhField GPTJ[] = {
    GPT_SIZES,
    SIZE("n_positions", positions, TOKENS_MAX, 2048),
    SIZE("rotary_base", rotary_base, BASE_MAX, 10000),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(ffn_bias, 1),
    CONSTANT(parallel, 1),
    END,
};

/* GPT-NeoX (arXiv 2204.06745): side by side behind a norm each. */
static const RhField GPT_NEOX[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(2048),
    RATE("hidden_dropout", hidden_dropout, 0),
    FLAG("use_parallel_residual", parallel, 1),
    ALL_BIASED,
    END,
};

static const RhField PHI[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(2048),
    RATE("resid_pdrop", hidden_dropout, 0),
    FLAG("qk_layernorm", qk_norm, 0),
    CONSTANT(parallel, 1),
    ALL_BIASED,
    END,
};

/* Persimmon (Adept, 2023): squared ReLU, norms of queries and keys. */
static const RhField PERSIMMON[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(16384),
    FLAG("qk_layernorm", qk_norm, 1),
    RATE("hidden_dropout", hidden_dropout, 0),
    ALL_BIASED,
    END,
};

/* OPT (arXiv 2205.01068). Two rows of its positions that no token uses are left out. */
static const RhField OPT[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("dropout", hidden_dropout, 1),
    FLAG("enable_bias", qkv_bias, 1),
    FLAG("enable_bias", out_bias, 1),
    FLAG("enable_bias", ffn_bias, 1),
    END,
};

/* XGLM (arXiv 2112.10668): the same, with positions that are not trained. */
static const RhField XGLM[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("dropout", hidden_dropout, 1),
    ALL_BIASED,
    END,
};

/* BLOOM (arXiv 2211.05100): ALiBi, a norm behind the embedding. */
static const RhField BLOOM[] = {
    STACK_SIZES,
    SIZE("n_inner", ffn, WIDTH_MAX, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(embedding_norm, 1),
    ALL_BIASED,
    END,
};

/* Falcon (arXiv 2311.16867): side by side, behind a norm each in the newer form. */
static const RhField FALCON[] = {
    STACK_SIZES,
    SIZE("ffn_hidden_size", ffn, WIDTH_MAX, 0),
    SIZE("num_kv_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    FLAG("multi_query", one_kv_head, 1),
    FLAG("new_decoder_architecture", many_kv_heads, 0),
    FLAG("parallel_attn", parallel, 1),
    FLAG("bias", qkv_bias, 0),
    FLAG("bias", out_bias, 0),
    FLAG("bias", ffn_bias, 0),
    FLAG("alibi", alibi, 0),
    END,
};

/* MPT: ALiBi, four times as wide, no biases. Its expansion_ratio is 4 in all that was published. */
static const RhField MPT[] = {
    SIZE("n_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("d_model", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("attn_config.kv_n_heads", kv_heads, HEADS_MAX, 0),
    SIZE("intermediate_size", ffn, WIDTH_MAX, 0),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("max_seq_len", positions, TOKENS_MAX, 2048),
    FLAG("tie_word_embeddings", tied, 1),
    END,
};

/* Jais (arXiv 2308.16149): GPT-2 with ALiBi and a gated network. */
static const RhField JAIS[] = {
    GPT_SIZES,
    SIZE("n_positions", positions, TOKENS_MAX, 2048),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(ffn_gated, 1),
    ALL_BIASED,
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

static void settle_phi3small(RhConfig *c)
{
    int64_t near = MIN(c->sparse_near * c->sparse_block, c->positions);
    c->window = near + (c->positions - near) / MAX(c->sparse_stride, 1);
}

/* Norms of attention and ffn side by side are two; one behind the other each has its own anyway. */
static void settle_neox(RhConfig *c)
{
    c->extra_norms = c->parallel;
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

static void settle_bigcode(RhConfig *c)
{
    c->kv_heads = c->one_kv_head ? 1 : c->heads;
}

static void settle_falcon(RhConfig *c)
{
    if (!c->many_kv_heads)
        c->kv_heads = c->one_kv_head ? 1 : c->heads;
    c->extra_norms = c->many_kv_heads && c->parallel;
}

#define DECODER(name, norm, position, fields)                                                      \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &rh_attention, &rh_ffn, fields, NULL,        \
            "sliding_attention", NULL                                                              \
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
    DECODER_OF("bloom", LAYER, NONE, rh_attention_alibi, BLOOM, NULL),
    DECODER_OF("chatglm", RMS, ROTARY, rh_attention, CHATGLM, settle_chatglm),
    DECODER("codegen", LAYER, ROTARY, GPTJ),
    DECODER("cohere", LAYER, ROTARY, COHERE),
    DECODER("cohere2", LAYER, ROTARY, COHERE),
    DECODER("cwm", RMS, ROTARY, PHI3),
    DECODER("ernie4_5", RMS, ROTARY, LLAMA),
    DECODER("exaone", RMS, ROTARY, LLAMA),
    DECODER("exaone4", RMS, ROTARY, EXAONE4),
    DECODER_OF("falcon", LAYER, ROTARY, rh_attention, FALCON, settle_falcon),
    DECODER("gemma", RMS, ROTARY, GEMMA),
    DECODER("gemma2", RMS, ROTARY, GEMMA2),
    DECODER("gemma3", RMS, ROTARY, GEMMA3),
    DECODER("gemma3_text", RMS, ROTARY, GEMMA3),
    DECODER("glm", RMS, ROTARY, QWEN2),
    DECODER("glm4", RMS, ROTARY, GLM4),
    DECODER("glm4v_text", RMS, ROTARY, GLM4),
    DECODER("gpt2", LAYER, LEARNED, GPT2),
    DECODER_OF("gpt_bigcode", LAYER, LEARNED, rh_attention, GPT_BIGCODE, settle_bigcode),
    DECODER("gpt_neo", LAYER, LEARNED, GPT_NEO),
    DECODER_OF("gpt_neox", LAYER, ROTARY, rh_attention, GPT_NEOX, settle_neox),
    DECODER("gptj", LAYER, ROTARY, GPTJ),
    DECODER("granite", RMS, ROTARY, LLAMA),
    DECODER("helium", RMS, ROTARY, LLAMA),
    DECODER("hunyuan_v1_dense", RMS, ROTARY, HUNYUAN),
    DECODER("hyperclovax", RMS, ROTARY, LLAMA),
    DECODER("internlm", RMS, ROTARY, INTERNLM),
    DECODER("internlm2", RMS, ROTARY, LLAMA),
    DECODER("internlm3", RMS, ROTARY, INTERNLM3),
    DECODER_OF("jais", LAYER, NONE, rh_attention_alibi, JAIS, NULL),
    DECODER("llama", RMS, ROTARY, LLAMA),
    DECODER("mimo", RMS, ROTARY, QWEN2),
    DECODER("minicpm", RMS, ROTARY, LLAMA),
    DECODER_OF("minicpm3", RMS, ROTARY, rh_latent_attention, MINICPM3, settle_minicpm3),
    DECODER("ministral", RMS, ROTARY, MISTRAL),
    DECODER("ministral3", RMS, ROTARY, MISTRAL),
    DECODER("mistral", RMS, ROTARY, MISTRAL),
    DECODER("mistral3", RMS, ROTARY, MISTRAL),
    DECODER_OF("mpt", LAYER, NONE, rh_attention_alibi, MPT, NULL),
    DECODER("nanochat", RMS, ROTARY, NANOCHAT),
    DECODER("nemotron", LAYER, ROTARY, NEMOTRON),
    DECODER("olmo", LAYER, ROTARY, LLAMA),
    DECODER("olmo2", RMS, ROTARY, OLMO2),
    DECODER("olmo3", RMS, ROTARY, OLMO2),
    DECODER("opt", LAYER, LEARNED, OPT),
    DECODER("orion", LAYER, ROTARY, LLAMA),
    DECODER("persimmon", LAYER, ROTARY, PERSIMMON),
    DECODER("phi", LAYER, ROTARY, PHI),
    DECODER("phi3", RMS, ROTARY, PHI3),
    DECODER_OF("phi3small", LAYER, ROTARY, rh_attention, PHI3SMALL, settle_phi3small),
    DECODER("phi4_multimodal", RMS, ROTARY, PHI3),
    DECODER("phi4mm", RMS, ROTARY, PHI3),
    DECODER_OF("qwen", RMS, ROTARY, rh_attention, QWEN, settle_qwen),
    DECODER("qwen2", RMS, ROTARY, QWEN2),
    DECODER("qwen2_5_omni_text", RMS, ROTARY, QWEN2),
    DECODER("qwen2_5_vl_text", RMS, ROTARY, QWEN2),
    DECODER("qwen2_vl", RMS, ROTARY, QWEN2),
    DECODER("qwen2_vl_text", RMS, ROTARY, QWEN2),
    DECODER("qwen3", RMS, ROTARY, QWEN3),
    DECODER("qwen3_vl_text", RMS, ROTARY, QWEN3),
    DECODER("seed_oss", RMS, ROTARY, LLAMA),
    DECODER("smollm3", RMS, ROTARY, LLAMA),
    DECODER("stablelm", LAYER, ROTARY, STABLELM),
    DECODER("starcoder2", LAYER, ROTARY, STARCODER2),
    DECODER("vaultgemma", RMS, ROTARY, VAULTGEMMA),
    DECODER("xglm", LAYER, NONE, XGLM),
    DECODER("xverse", RMS, ROTARY, LLAMA),
    {0},
};
