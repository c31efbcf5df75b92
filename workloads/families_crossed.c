/* Families of an encoder and a decoder, whose layers look at what the encoder puts out, too. Keys and
 * defaults as in families_dense.c. `layers` are the decoder's. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* T5 (arXiv 1910.10683), and its first version's successors with gated networks (arXiv 2002.05202): no biases but
 * of scores, by distance, one table a stack; UMT5 (arXiv 2304.09151) has one a layer. */
#define T5_SIZES                                                                                   \
    SIZE("num_decoder_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                             \
        SIZE("num_layers", encoder_layers, LAYERS_MAX, 0),                                         \
        SIZE("d_model", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                     \
        SIZE("num_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                                    \
        SIZE("d_kv", head_size, HEAD_SIZE_MAX, 64),                                                \
        SIZE("d_ff", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                                           \
        SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),                                   \
        SIZE("n_positions", positions, TOKENS_MAX, 512),                                           \
        SIZE("relative_attention_num_buckets", distances, TOKENS_MAX, 32),                         \
        RATE("dropout_rate", hidden_dropout, 1), RATE("dropout_rate", attention_dropout, 1),       \
        CONSTANT(crosses, 1), CONSTANT(encoder_norm, 1)

static const RhField T5[] = {
    T5_SIZES,
    BEGINS("feed_forward_proj", ffn_gated, "gated", 0),
    FLAG("tie_word_embeddings", tied, 1),
    END,
};

static const RhField MT5[] = {
    T5_SIZES,
    BEGINS("feed_forward_proj", ffn_gated, "gated", 1),
    FLAG("tie_word_embeddings", tied, 0),
    END,
};

static const RhField UMT5[] = {
    T5_SIZES,
    BEGINS("feed_forward_proj", ffn_gated, "gated", 1),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(distances_each, 1),
    END,
};

/* LongT5 (arXiv 2112.07916): an encoder whose tokens see so many on either side; the means of blocks that "transient-global"
 * lets them see besides are left out, and their table and norms. */
static const RhField LONGT5[] = {
    T5_SIZES,
    BEGINS("feed_forward_proj", ffn_gated, "gated", 0),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("local_radius", sparse_near, TOKENS_MAX / 4, 127),
    CONSTANT(window_used, 1),
    END,
};

/* Switch Transformer (arXiv 2101.03961): a T5 with experts in the second of every so many layers, one for a token. Its files
 * say the turn, or how many layers have experts. */
static const RhField SWITCH[] = {
    T5_SIZES,
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    SIZE("num_selected_experts", experts_per_token, EXPERTS_MAX, 1),
    COUNT("encoder_sparse_step", encoder_expert_turn, LAYERS_MAX, 0),
    COUNT("decoder_sparse_step", expert_turn, LAYERS_MAX, 0),
    COUNT("num_sparse_encoder_layers", encoder_sparse, LAYERS_MAX, 3),
    COUNT("num_sparse_decoder_layers", decoder_sparse, LAYERS_MAX, 3),
    FLAG("router_bias", router_bias, 0),
    CONSTANT(expert_offset, 1),
    END,
};

/* T5Gemma (arXiv 2504.06225): two stacks as Gemma 2's, each with its table of tokens; blocks that look at the encoder have norms
 * before and behind, too. */
static const RhField T5GEMMA[] = {
    SIZE("decoder.num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.num_hidden_layers", encoder_layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.hidden_size", encoder_hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.num_attention_heads", encoder_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.num_key_value_heads", kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.head_dim", encoder_head_size, HEAD_SIZE_MAX, 256),
    SIZE("encoder.num_key_value_heads", encoder_kv_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.head_dim", head_size, HEAD_SIZE_MAX, 256),
    SIZE("decoder.intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.intermediate_size", encoder_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.max_position_embeddings", positions, TOKENS_MAX, 8192),
    SIZE("decoder.sliding_window", window, TOKENS_MAX, 4096),
    CONSTANT(window_used, 1),
    CONSTANT(full_every, 2),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(ffn_gated, 1),
    CONSTANT(extra_norms, 1),
    CONSTANT(crosses, 1),
    CONSTANT(encoder_norm, 1),
    CONSTANT(own_table, 1),
    END,
};

/* T5Gemma 2 (arXiv 2512.14856): two stacks as Gemma 3's, one table for both, and one attention in a decoder's layer, to its tokens and
 * the encoder's. What makes tokens of pictures is left out, and the one row that stands for the end of one. */
static const RhField T5GEMMA2[] = {
    SIZE("decoder.num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.text_config.num_hidden_layers", encoder_layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.text_config.hidden_size", encoder_hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.num_attention_heads", heads, HEADS_MAX, 8),
    SIZE("encoder.text_config.num_attention_heads", encoder_heads, HEADS_MAX, 8),
    SIZE("decoder.num_key_value_heads", kv_heads, HEADS_MAX, 4),
    SIZE("encoder.text_config.head_dim", encoder_head_size, HEAD_SIZE_MAX, 256),
    SIZE("encoder.text_config.num_key_value_heads", encoder_kv_heads, HEADS_MAX, 4),
    SIZE("decoder.head_dim", head_size, HEAD_SIZE_MAX, 256),
    SIZE("decoder.intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder.text_config.intermediate_size", encoder_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder.vocab_size", vocab, VOCAB_MAX, 262208),
    SIZE("decoder.max_position_embeddings", positions, TOKENS_MAX, 131072),
    SIZE("decoder.sliding_window", window, TOKENS_MAX, 4096),
    SIZE("decoder.sliding_window_pattern", full_every, LAYERS_MAX, 6),
    CONSTANT(window_used, 1),
    CONSTANT(tied, 1),
    CONSTANT(qk_norm, 1),
    CONSTANT(ffn_gated, 1),
    CONSTANT(extra_norms, 1),
    CONSTANT(crosses, 1),
    CONSTANT(merged, 1),
    CONSTANT(encoder_norm, 1),
    END,
};

/* BART (arXiv 1910.13461) and what was built like it. */
#define BART_SIZES(dropout_otherwise)                                                              \
    SIZE("decoder_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("encoder_layers", encoder_layers, LAYERS_MAX, 0),                                     \
        SIZE("d_model", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                     \
        SIZE("decoder_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                      \
        SIZE("encoder_attention_heads", encoder_heads, HEADS_MAX, 0),                              \
        SIZE("decoder_ffn_dim", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                                \
        SIZE("encoder_ffn_dim", encoder_ffn, WIDTH_MAX, 0),                                        \
        SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),                                   \
        FLAG("tie_word_embeddings", tied, 1), RATE("dropout", hidden_dropout, dropout_otherwise),  \
        RATE("attention_dropout", attention_dropout, 0), CONSTANT(crosses, 1), ALL_BIASED
#define BOTH_POSITIONS                                                                             \
    POSITIONS(1024), SIZE("max_position_embeddings", encoder_positions, TOKENS_MAX, 1024)

/* No norms behind the stacks: its norms stand behind blocks, which costs the same. */
static const RhField BART[] = {BART_SIZES(1), BOTH_POSITIONS, CONSTANT(embedding_norm, 1), END};

static const RhField MBART[] = {
    BART_SIZES(1), BOTH_POSITIONS, CONSTANT(embedding_norm, 1), CONSTANT(encoder_norm, 1), END,
};

/* PEGASUS (arXiv 1912.08777), Blenderbot (arXiv 2004.13637), M2M-100 and NLLB (arXiv 2010.11125, 2207.04672),
 * whose positions nobody trains. */
static const RhField PEGASUS[] = {BART_SIZES(1), BOTH_POSITIONS, CONSTANT(encoder_norm, 1), END};
static const RhField MARIAN[] = {BART_SIZES(1), BOTH_POSITIONS, END};

/* LED (arXiv 2004.05150, section 7): BART whose encoder is a Longformer's. */
static const RhField LED[] = {
    BART_SIZES(1),
    SIZE("max_decoder_position_embeddings", positions, TOKENS_MAX, 1024),
    SIZE("max_encoder_position_embeddings", encoder_positions, TOKENS_MAX, 16384),
    SIZE("attention_window", encoder_window, TOKENS_MAX, 512),
    CONSTANT(encoder_global, 1),
    CONSTANT(window_used, 1),
    CONSTANT(embedding_norm, 1),
    END,
};

/* PEGASUS with BigBird's encoder (arXiv 2007.14062): a query sees blocks, taken as a window of as many tokens. */
static const RhField BIGBIRD_PEGASUS[] = {
    BART_SIZES(1),
    SIZE("max_position_embeddings", positions, TOKENS_MAX, 4096),
    SIZE("max_position_embeddings", encoder_positions, TOKENS_MAX, 4096),
    BEGINS("attention_type", encoder_sparse_used, "block_sparse", 1),
    SIZE("block_size", sparse_block, TOKENS_MAX, 64),
    SIZE("num_random_blocks", sparse_stride, TOKENS_MAX, 3),
    FLAG("use_bias", qkv_bias, 0),
    FLAG("use_bias", out_bias, 0),
    CONSTANT(window_used, 1),
    CONSTANT(encoder_norm, 1),
    END,
};

/* NLLB-200's mixture (arXiv 2207.04672): two of the experts for a token, in the last of every four layers. */
static const RhField NLLB_MOE[] = {
    BART_SIZES(1),
    BOTH_POSITIONS,
    CONSTANT(encoder_norm, 1),
    SIZE("num_experts", experts, EXPERTS_MAX, RH_FIELD_REQUIRED),
    CONSTANT(experts_per_token, 2),
    COUNT("encoder_sparse_step", encoder_expert_turn, LAYERS_MAX, 4),
    COUNT("decoder_sparse_step", expert_turn, LAYERS_MAX, 4),
    FLAG("router_bias", router_bias, 0),
    CONSTANT(expert_offset, -1),
    END,
};

/* Whisper (arXiv 2212.04356): the encoder listens to 30 s, in 1,500 tokens. Its keys have no bias, which are
 * counted; its positions are not trained. */
static const RhField WHISPER[] = {
    BART_SIZES(0),
    SIZE("max_target_positions", positions, TOKENS_MAX, 448),
    SIZE("max_source_positions", encoder_positions, TOKENS_MAX, 1500),
    SIZE("max_source_positions", encoder_tokens, TOKENS_MAX, 1500),
    SIZE("num_mel_bins", sound_rows, WIDTH_MAX, 80),
    CONSTANT(encoder_norm, 1),
    END,
};

/* Moonshine (arXiv 2410.15608): the encoder listens to samples, 384 to a token, of the 30 s at most that it is trained on; the decoder's
 * networks alone are gated. Its norms have no shifts, which are counted; heads that are padded (`pad_head_dim_to_multiple_of`) cost as
 * many as there are. */
static const RhField MOONSHINE[] = {
    SIZE("decoder_num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder_num_hidden_layers", encoder_layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder_num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("encoder_num_attention_heads", encoder_heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("decoder_num_key_value_heads", kv_heads, HEADS_MAX, 0),
    SIZE("encoder_num_key_value_heads", encoder_kv_heads, HEADS_MAX, 0),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("rope_theta", rotary_base, BASE_MAX, 10000),
    POSITIONS(512),
    ATTENTION_BIAS(0),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(encoder_tokens, 1248),
    CONSTANT(samples, 1),
    CONSTANT(encoder_plain, 1),
    CONSTANT(ffn_gated, 1),
    CONSTANT(ffn_bias, 1),
    CONSTANT(crosses, 1),
    CONSTANT(encoder_norm, 1),
    END,
};

/* Llama 3.2 Vision (arXiv 2407.21783, section 7.1): a llama some of whose layers look at a picture's tokens in
 * place of its own, four tiles of (560 / 14)^2 and one. What makes these tokens is left out, and eight rows of
 * the table, and scales of such layers' outputs. */
static const RhField MLLAMA[] = {
    LLAMA_SIZES,
    HEADS(8, 0),
    POSITIONS(131072),
    CONSTANT(beside_pictures, 1),
    CONSTANT(cross_norms, 1),
    CONSTANT(encoder_tokens, 6404),
    END,
};

static const RhLayerWord MLLAMA_WORDS[] = {
    ATTENTION_WORDS,
    {.word = "cross_attention",
     .mixer = &rh_cross_attention,
     .figures = {{AT(qk_norm), AT(cross_norms)}}},
    {0},
};

#define MLLAMA_ROW(name)                                                                           \
    {                                                                                              \
        name, RH_NORM_RMS, RH_POSITION_ROTARY, &rh_attention, &rh_ffn, MLLAMA, MLLAMA_WORDS,       \
            "sliding_attention", NULL                                                              \
    }

/* As many layers of a turn as have experts. In turns of one every layer has. */
static void settle_switch(RhConfig *c)
{
    if (c->encoder_layers == 0)
        c->encoder_layers = c->layers;
    if (c->encoder_expert_turn == 0 && c->encoder_sparse > 0)
        c->encoder_expert_turn = c->encoder_layers / c->encoder_sparse;
    if (c->expert_turn == 0 && c->decoder_sparse > 0)
        c->expert_turn = c->layers / c->decoder_sparse;
}

static void settle_longt5(RhConfig *c)
{
    c->encoder_window = 2 * c->sparse_near + 1;
}

static void settle_bigbird_pegasus(RhConfig *c)
{
    c->encoder_window = c->encoder_sparse_used
                            ? MIN((c->sparse_stride + 5) * c->sparse_block, c->encoder_positions)
                            : 0;
}

#define CROSSED(name, norm, position, fields)                                                      \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &rh_attention, &rh_ffn, fields, NULL,        \
            "sliding_attention", NULL                                                              \
    }

const RhFamily rh_families_crossed[] = {
    CROSSED("bart", LAYER, LEARNED, BART),
    {"bigbird_pegasus", RH_NORM_LAYER, RH_POSITION_LEARNED, &rh_attention, &rh_ffn, BIGBIRD_PEGASUS,
     NULL, "sliding_attention", settle_bigbird_pegasus},
    CROSSED("blenderbot", LAYER, LEARNED, PEGASUS),
    CROSSED("blenderbot-small", LAYER, LEARNED, BART),
    CROSSED("florence2_language", LAYER, LEARNED, BART),
    CROSSED("led", LAYER, LEARNED, LED),
    {"longt5", RH_NORM_RMS, RH_POSITION_NONE, &rh_attention, &rh_ffn, LONGT5, NULL,
     "sliding_attention", settle_longt5},
    CROSSED("m2m_100", LAYER, NONE, PEGASUS),
    CROSSED("marian", LAYER, LEARNED, MARIAN),
    CROSSED("mbart", LAYER, LEARNED, MBART),
    MLLAMA_ROW("mllama"),
    MLLAMA_ROW("mllama_text_model"),
    CROSSED("moonshine", LAYER, ROTARY, MOONSHINE),
    CROSSED("mt5", RMS, NONE, MT5),
    CROSSED("mvp", LAYER, LEARNED, BART),
    CROSSED("nllb-moe", LAYER, NONE, NLLB_MOE),
    CROSSED("pegasus", LAYER, LEARNED, PEGASUS),
    CROSSED("plbart", LAYER, LEARNED, BART),
    CROSSED("pop2piano", RMS, NONE, T5),
    {"switch_transformers", RH_NORM_RMS, RH_POSITION_NONE, &rh_attention, &rh_ffn, SWITCH, NULL,
     "sliding_attention", settle_switch},
    CROSSED("t5", RMS, NONE, T5),
    CROSSED("t5gemma", RMS, ROTARY, T5GEMMA),
    CROSSED("t5gemma2", RMS, ROTARY, T5GEMMA2),
    CROSSED("umt5", RMS, NONE, UMT5),
    CROSSED("whisper", LAYER, LEARNED, WHISPER),
    {0},
};
