#pragma once
/* How tables of keys are written. Private to the tables of families (families_*.c, families.c). */
#include "workloads/families.h"

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
        key, AT(field), RH_FIELD_SIZE, 1, high, otherwise, false, NULL                             \
    }
/* A size that may be 0: none. */
#define COUNT(key, field, high, otherwise)                                                         \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 0, high, otherwise, false, NULL                             \
    }
/* A size that a file may say not to be there: null. */
#define NULLABLE(key, field, high, otherwise)                                                      \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 0, high, otherwise, true, NULL                              \
    }
/* Of a pair, or of a number that stands for both. */
#define FIRST(key, field, high, otherwise)                                                         \
    {                                                                                              \
        key, AT(field), RH_FIELD_FIRST, 0, high, otherwise, false, NULL                            \
    }
#define SECOND(key, field, high, otherwise)                                                        \
    {                                                                                              \
        key, AT(field), RH_FIELD_SECOND, 0, high, otherwise, false, NULL                           \
    }
/* How many tokens attention looks back; a file's null or 0 is none, whatever the default. */
#define WINDOW(otherwise)                                                                          \
    {                                                                                              \
        "sliding_window", AT(window), RH_FIELD_SIZE, 0, TOKENS_MAX, otherwise, true, NULL          \
    }
/* A COUNT of which a file says none as -1. */
#define SIGNED(key, field, high, otherwise)                                                        \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, -1, high, otherwise, false, NULL                            \
    }
#define FLAG(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_FLAG, 0, 1, otherwise, false, NULL                                \
    }
#define RATE(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_RATE, 0, 1, otherwise, false, NULL                                \
    }
/* A number, in thousandths. */
#define RATIO(key, field, otherwise)                                                               \
    {                                                                                              \
        key, AT(field), RH_FIELD_RATIO, 1, 1000000, otherwise, false, NULL                         \
    }
#define MEMBERS(key, field, high)                                                                  \
    {                                                                                              \
        key, AT(field), RH_FIELD_COUNT, 1, high, 0, false, NULL                                    \
    }
/* A text that begins with this word. */
#define BEGINS(key, field, word, otherwise)                                                        \
    {                                                                                              \
        key, AT(field), RH_FIELD_WORD, 0, 1, otherwise, false, word                                \
    }
/* ... or that a file says not to be there: null. */
#define BEGINS_OR_NULL(key, field, word, otherwise)                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_WORD, 0, 1, otherwise, true, word                                 \
    }
#define MAY_BEGIN(key, field, word)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_MAYBE_WORD, 0, 1, 0, false, word                                  \
    }
/* Something, whatever it is: true, or a text. */
#define SAID(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_SAID, 0, 1, otherwise, false, NULL                                \
    }
/* A list that must be this one. */
#define EXPECTED(key, field, numbers)                                                              \
    {                                                                                              \
        key, AT(field), RH_FIELD_EXPECTED, 0, 1, 1, false, numbers                                 \
    }
#define CONSTANT(field, value)                                                                     \
    {                                                                                              \
        NULL, AT(field), RH_FIELD_CONSTANT, 0, 0, value, false, NULL                               \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0, RH_FIELD_NONE, 0, 0, 0, false, NULL                                               \
    }

/* What all decoders say, by transformers' newer names; older ones are aliases (keys.c). */
#define STACK_SIZES                                                                                \
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),                                   \
        SIZE("rope_theta", rotary_base, BASE_MAX, 10000)
/* What llama's descendants share. 0 for kv_heads, head_size: as many as heads, hidden / heads. */
#define LLAMA_SIZES                                                                                \
    STACK_SIZES, SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED), LLAMA_SWITCHES
#define LLAMA_SWITCHES                                                                             \
    FLAG("tie_word_embeddings", tied, 0), RATE("attention_dropout", attention_dropout, 0),         \
        CONSTANT(ffn_gated, 1)
#define HEADS(kv_otherwise, size_otherwise)                                                        \
    SIZE("num_key_value_heads", kv_heads, HEADS_MAX, kv_otherwise),                                \
        SIZE("head_dim", head_size, HEAD_SIZE_MAX, size_otherwise)
#define POSITIONS(otherwise) SIZE("max_position_embeddings", positions, TOKENS_MAX, otherwise)
#define ATTENTION_BIAS(otherwise)                                                                  \
    FLAG("attention_bias", qkv_bias, otherwise), FLAG("attention_bias", out_bias, otherwise)
/* Of all matrices. */
#define ALL_BIASED CONSTANT(qkv_bias, 1), CONSTANT(out_bias, 1), CONSTANT(ffn_bias, 1)
/* How many there are, and a token's. */
#define EXPERTS(key)                                                                               \
    SIZE(key, experts, EXPERTS_MAX, RH_FIELD_REQUIRED),                                            \
        SIZE("num_experts_per_tok", experts_per_token, EXPERTS_MAX, RH_FIELD_REQUIRED)
/* Layers with experts: every `decoder_sparse_step`-th, and none that mlp_only_layers names. */
#define QWEN_EXPERTS                                                                               \
    EXPERTS("num_experts"),                                                                        \
        SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                   \
        SIZE("decoder_sparse_step", expert_step, LAYERS_MAX, 1), CONSTANT(expert_offset, -1)
/* Full attention in layers that a list or a rule calls so, and a window of tokens in others. */
#define ATTENTION_WORDS                                                                            \
    {.word = "full_attention"}, {.word = "attention"}, {.word = "global_attention"},               \
        {.word = "sliding_attention", .slides = true},                                             \
        {.word = "chunked_attention", .slides = true},                                             \
    {                                                                                              \
        .word = "local_attention", .slides = true                                                  \
    }
