/* Families of GPT's kin: attention and one plain network a layer, most of them with biases, older than llama. Keys
 * and defaults as in families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

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
    SIZE("word_embed_proj_dim", embedding, WIDTH_MAX, 0),
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

/* GPT-1 (Radford et al. 2018); its norms stand behind blocks, and one behind the last is counted that is none. */
static const RhField OPENAI_GPT[] = {
    GPT_SIZES,
    SIZE("n_positions", positions, TOKENS_MAX, 512),
    FLAG("tie_word_embeddings", tied, 1),
    ALL_BIASED,
    END,
};

/* BioGPT (doi 10.1093/bib/bbac409): two rows of positions that no token uses are left out, as of OPT. */
static const RhField BIOGPT[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(1024),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
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

#define FALCON_DROPOUT                                                                             \
    FLAG("tie_word_embeddings", tied, 1), RATE("hidden_dropout", hidden_dropout, 0),               \
        RATE("attention_dropout", attention_dropout, 0)
#define FALCON_SWITCHES                                                                            \
    FLAG("parallel_attn", parallel, 1), FLAG("bias", qkv_bias, 0), FLAG("bias", out_bias, 0),      \
        FLAG("bias", ffn_bias, 0), FLAG("alibi", alibi, 0)

/* Falcon (arXiv 2311.16867): side by side, behind a norm each in the newer form. */
static const RhField FALCON[] = {
    STACK_SIZES,
    SIZE("ffn_hidden_size", ffn, WIDTH_MAX, 0),
    SIZE("num_kv_heads", kv_heads, HEADS_MAX, 0),
    POSITIONS(2048),
    FALCON_DROPOUT,
    FLAG("multi_query", one_kv_head, 1),
    FLAG("new_decoder_architecture", many_kv_heads, 0),
    FALCON_SWITCHES,
    END,
};

/* The same before it was in transformers: RefinedWebModel as the 7B is, RefinedWeb as the 40B. */
static const RhField REFINED_WEB[] = {
    STACK_SIZES,
    SIZE("n_head_kv", kv_heads, HEADS_MAX, 1),
    POSITIONS(2048),
    FALCON_DROPOUT,
    CONSTANT(many_kv_heads, 1),
    FALCON_SWITCHES,
    END,
};

/* MPT: ALiBi, four times as wide, no biases. */
static const RhField MPT[] = {
    SIZE("n_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("d_model", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("attn_config.kv_n_heads", kv_heads, HEADS_MAX, 0),
    SIZE("expansion_ratio", ffn_multiple, 64, 4),
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

/* CTRL (arXiv 1909.05858): positions that are not trained; its head's own bias of V entries is left out. */
static const RhField CTRL[] = {
    SIZE("n_layer", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_embd", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_head", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("dff", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("n_positions", positions, TOKENS_MAX, 256),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("resid_pdrop", hidden_dropout, 1),
    ALL_BIASED,
    END,
};

/* GPT-NeoX's Japanese kin (ABEJA, 2022): no biases but one of the last layer's attention, which is left out. */
static const RhField GPT_NEOX_JAPANESE[] = {
    STACK_SIZES,
    SIZE("intermediate_multiple_size", ffn_multiple, 64, 4),
    POSITIONS(2048),
    FLAG("tie_word_embeddings", tied, 0),
    RATE("hidden_dropout", hidden_dropout, 1),
    RATE("attention_dropout", attention_dropout, 1),
    END,
};

/* Phi-1.5 and 2 (arXiv 2309.05463) before they were in transformers. */
static const RhField PHI_MSFT[] = {
    GPT_SIZES,
    SIZE("n_head_kv", kv_heads, HEADS_MAX, 0),
    SIZE("n_positions", positions, TOKENS_MAX, 2048),
    FLAG("tie_word_embeddings", tied, 0),
    CONSTANT(parallel, 1),
    ALL_BIASED,
    END,
};

/* ChatGLM-6B (THUDM, 2023): GLM (arXiv 2103.10360) with rotation. */
static const RhField CHATGLM_FIRST[] = {
    STACK_SIZES,     SIZE("inner_hidden_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    POSITIONS(2048), FLAG("tie_word_embeddings", tied, 1),
    ALL_BIASED,      END,
};

/* Norms of attention and ffn side by side are two; one behind the other each has its own anyway. */
static void settle_neox(RhConfig *c)
{
    c->extra_norms = c->parallel;
}

static void settle_multiple(RhConfig *c)
{
    if (c->ffn == 0)
        c->ffn = c->ffn_multiple * c->hidden;
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

const RhFamily rh_families_gpt[] = {
    DECODER("biogpt", LAYER, LEARNED, BIOGPT),
    DECODER_OF("bloom", LAYER, NONE, rh_attention_alibi, BLOOM, NULL),
    DECODER_OF("btlm", LAYER, NONE, rh_attention_alibi, JAIS, NULL),
    DECODER("chatglm_first", LAYER, ROTARY, CHATGLM_FIRST),
    DECODER("codegen", LAYER, ROTARY, GPTJ),
    DECODER("ctrl", LAYER, NONE, CTRL),
    DECODER_OF("falcon", LAYER, ROTARY, rh_attention, FALCON, settle_falcon),
    DECODER("gpt-sw3", LAYER, LEARNED, GPT2),
    DECODER("gpt2", LAYER, LEARNED, GPT2),
    DECODER_OF("gpt_bigcode", LAYER, LEARNED, rh_attention, GPT_BIGCODE, settle_bigcode),
    DECODER("gpt_neo", LAYER, LEARNED, GPT_NEO),
    DECODER_OF("gpt_neox", LAYER, ROTARY, rh_attention, GPT_NEOX, settle_neox),
    DECODER_OF("gpt_neox_japanese", LAYER, ROTARY, rh_attention, GPT_NEOX_JAPANESE,
               settle_multiple),
    DECODER("gptj", LAYER, ROTARY, GPTJ),
    DECODER_OF("jais", LAYER, NONE, rh_attention_alibi, JAIS, NULL),
    DECODER_OF("mpt", LAYER, NONE, rh_attention_alibi, MPT, settle_multiple),
    DECODER("mixformer-sequential", LAYER, ROTARY, PHI_MSFT),
    DECODER("moss", LAYER, ROTARY, GPTJ),
    DECODER("openai-gpt", LAYER, LEARNED, OPENAI_GPT),
    DECODER("opt", LAYER, LEARNED, OPT),
    DECODER("persimmon", LAYER, ROTARY, PERSIMMON),
    DECODER("phi", LAYER, ROTARY, PHI),
    DECODER("phi-msft", LAYER, ROTARY, PHI_MSFT),
    DECODER_OF("RefinedWeb", LAYER, ROTARY, rh_attention, REFINED_WEB, settle_falcon),
    DECODER_OF("RefinedWebModel", LAYER, ROTARY, rh_attention, FALCON, settle_falcon),
    DECODER("xglm", LAYER, NONE, XGLM),
    {0},
};
