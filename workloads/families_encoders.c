/* Families of encoders, whose queries see later tokens, too: of words, proteins and sounds (of pictures: families_towers.c).
 * Keys and defaults as in families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* What BERT's kind has in common: how large it is, which words it knows, and how it looks at them. */
#define BERT_SIZES LLAMA_SIZES, CONSTANT(ffn_gated, 0), POSITIONS(512)
#define BERT_WORDS                                                                                 \
    COUNT("type_vocab_size", token_types, VOCAB_MAX, 2), FLAG("tie_word_embeddings", tied, 1)
#define BERT_REST CONSTANT(embedding_norm, 1), CONSTANT(both_ways, 1), ALL_BIASED

/* BERT (arXiv 1810.04805): queries see all tokens. Its pooler and the transform before its head are
 * left out; norms stand behind the blocks, which costs the same. */
static const RhField BERT[] = {
    BERT_SIZES,
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* LayoutLM (arXiv 1912.13318, section 2.3): four more tables of positions, of a box's sides, its width and its height. */
static const RhField LAYOUTLM[] = {
    BERT_SIZES,
    BERT_WORDS,
    COUNT("max_2d_position_embeddings", registers, TOKENS_MAX, 1024),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* ELECTRA (arXiv 2003.10555): BERT, whose table of tokens may be narrower. What stands before its head is left
 * out. ALBERT (arXiv 1909.11942): all layers of a group are one and the same. */
static const RhField ELECTRA[] = {
    BERT_SIZES,
    SIZE("embedding_size", embedding, WIDTH_MAX, 128),
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

static const RhField ALBERT[] = {
    BERT_SIZES,
    SIZE("embedding_size", embedding, WIDTH_MAX, 128),
    SIZE("num_hidden_groups", layer_groups, LAYERS_MAX, 1),
    SIZE("inner_group_num", inner_layers, 1, 1),
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 0),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    BERT_REST,
    END,
};

/* DistilBERT (arXiv 1910.01108): BERT without types of tokens, under other names. */
static const RhField DISTILBERT[] = {
    BERT_SIZES,
    FLAG("tie_word_embeddings", tied, 1),
    RATE("dropout", hidden_dropout, 1),
    RATE("attention_dropout", attention_dropout, 1),
    BERT_REST,
    END,
};

/* ModernBERT (arXiv 2412.13663): no biases, a gated network, rotation; the first of every three layers sees
 * all, the others a window around a token. What stands before its head is left out. */
static const RhField MODERNBERT[] = {
    LLAMA_SIZES,
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("global_attn_every_n_layers", full_every, LAYERS_MAX, 3),
    CONSTANT(full_at, 1),
    WINDOW(128),
    CONSTANT(window_used, 1),
    FLAG("attention_bias", qkv_bias, 0),
    FLAG("attention_bias", out_bias, 0),
    FLAG("mlp_bias", ffn_bias, 0),
    CONSTANT(embedding_norm, 1),
    CONSTANT(both_ways, 1),
    END,
};

/* MPNet (arXiv 2004.09297): BERT without types of tokens; biases of scores by distance, one table for all layers. */
static const RhField MPNET[] = {
    BERT_SIZES,
    FLAG("tie_word_embeddings", tied, 1),
    SIZE("relative_attention_num_buckets", distances, TOKENS_MAX, 32),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* XLNet (arXiv 1906.08237), one stream of it, as tasks are trained; its second one of queries, which only predicting words needs, is
 * left out, and the row of tokens that are predicted. */
static const RhField XLNET[] = {
    STACK_SIZES,
    SIZE("d_inner", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("d_head", head_size, HEAD_SIZE_MAX, 0),
    BEGINS("attn_type", both_ways, "bi", 1),
    RATE("dropout", hidden_dropout, 1),
    RATE("dropout", attention_dropout, 1),
    FLAG("tie_word_embeddings", tied, 1),
    CONSTANT(positions, TOKENS_MAX),
    CONSTANT(around_used, 1),
    CONSTANT(around_own, 1),
    CONSTANT(segments, 2),
    CONSTANT(ffn_bias, 1),
    END,
};

/* RoFormer (arXiv 2104.09864): BERT with rotation; its table of tokens may be narrower. */
static const RhField ROFORMER[] = {
    BERT_SIZES,
    SIZE("embedding_size", embedding, WIDTH_MAX, 0),
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* BigBird (arXiv 2007.14062): a query sees blocks: its own and one on either side, the first and the last, and some
 * by chance; taken as a window of as many tokens. */
static const RhField BIG_BIRD[] = {
    BERT_SIZES,
    BERT_WORDS,
    BEGINS("attention_type", sparse_near, "block_sparse", 1),
    SIZE("block_size", sparse_block, TOKENS_MAX, 64),
    SIZE("num_random_blocks", sparse_stride, TOKENS_MAX, 3),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* Longformer (arXiv 2004.05150): RoBERTa with a window around each token, and further keys for tokens that see all. */
static const RhField LONGFORMER[] = {
    BERT_SIZES,
    BERT_WORDS,
    SIZE("attention_window", window, TOKENS_MAX, 512),
    CONSTANT(window_used, 1),
    CONSTANT(global_keys, 1),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* Nomic BERT (arXiv 2402.01613) and GTE (arXiv 2407.19669): BERT with rotation and a gated network; Nomic's has no
 * biases, of GTE's matrices into the network they are counted and are none. Nomic's second has experts in the last of every
 * `moe_every_n_layers` layers (arXiv 2502.07972); their biases into the network are counted and are none. */
static const RhField NOMIC_BERT[] = {
    SIZE("n_layer", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_embd", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_head", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_inner", ffn, WIDTH_MAX, 0),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    SIZE("n_positions", positions, TOKENS_MAX, 8192),
    SIZE("rotary_emb_base", rotary_base, BASE_MAX, 10000),
    BERT_WORDS,
    COUNT("num_experts", experts, EXPERTS_MAX, 0),
    COUNT("moe_top_k", experts_per_token, EXPERTS_MAX, 2),
    COUNT("moe_every_n_layers", expert_step, LAYERS_MAX, 0),
    CONSTANT(expert_offset, -1),
    FLAG("qkv_proj_bias", qkv_bias, 0),
    FLAG("qkv_proj_bias", out_bias, 0),
    FLAG("mlp_fc1_bias", ffn_bias, 0),
    RATE("resid_pdrop", hidden_dropout, 0),
    RATE("attn_pdrop", attention_dropout, 0),
    BEGINS("activation_function", ffn_gated, "swiglu", 1),
    CONSTANT(embedding_norm, 1),
    CONSTANT(both_ways, 1),
    END,
};

static const RhField GTE[] = {
    LLAMA_SIZES,
    POSITIONS(8192),
    COUNT("type_vocab_size", token_types, VOCAB_MAX, 0),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    BERT_REST,
    END,
};

/* Jina's second (arXiv 2310.19923), whose type is BERT's: ALiBi, a gated network, whose biases into it are counted and are
 * none. */
static const RhField JINA_BERT[] = {
    LLAMA_SIZES,
    POSITIONS(8192),
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    BERT_REST,
    END,
};

/* EuroBERT (arXiv 2503.05500): a llama that sees later tokens, too. */
static const RhField EUROBERT[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(8192),
    FLAG("tie_word_embeddings", tied, 0),
    ATTENTION_BIAS(0),
    FLAG("mlp_bias", ffn_bias, 0),
    CONSTANT(both_ways, 1),
    END,
};

/* XLM and FlauBERT (arXiv 1901.07291, 1912.05372): BERT under other names, with a table of languages where there are several. */
static const RhField XLM[] = {
    SIZE("n_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("emb_dim", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("n_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("n_words", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    POSITIONS(512),
    COUNT("n_langs", languages, VOCAB_MAX, 1),
    FLAG("use_lang_emb", languages_used, 1),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("dropout", hidden_dropout, 1),
    RATE("attention_dropout", attention_dropout, 1),
    BERT_REST,
    END,
};

/* RemBERT (arXiv 2010.12821): a narrow table of tokens, a wide matrix before what predicts, which is not tied. */
static const RhField REMBERT[] = {
    BERT_SIZES,
    SIZE("input_embedding_size", embedding, WIDTH_MAX, 256),
    SIZE("output_embedding_size", head_width, WIDTH_MAX, 1664),
    COUNT("type_vocab_size", token_types, VOCAB_MAX, 2),
    FLAG("tie_word_embeddings", tied, 0),
    RATE("hidden_dropout_prob", hidden_dropout, 0),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    BERT_REST,
    END,
};

/* Jina's third (arXiv 2409.10173): XLM-RoBERTa with rotation; its adapters for tasks are left out. */
static const RhField JINA_V3[] = {
    BERT_SIZES,
    BERT_WORDS,
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* Decoders that embed, without a mask (NV-Embed, arXiv 2405.17428; Llama-Embed-Nemotron, 2025), and without a matrix that
 * predicts; what pools is left out. */
static const RhField BIDIREC[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(32768),
    ATTENTION_BIAS(0),
    WINDOW(0),
    CONSTANT(window_used, 1),
    CONSTANT(both_ways, 1),
    CONSTANT(tied, 1),
    END,
};

/* Language models by diffusion: a decoder without a mask. Dream 7B (arXiv 2508.15487) began as Qwen 2.5; LLaDA (arXiv
 * 2502.09992), LLaDA-MoE (arXiv 2509.24389) and LLaDA 2 (arXiv 2512.15745) as themselves. */
static const RhField DREAM[] = {
    LLAMA_SIZES,           HEADS(RH_FIELD_REQUIRED, 0), POSITIONS(131072),
    CONSTANT(qkv_bias, 1), CONSTANT(both_ways, 1),      END,
};

static const RhField LLADA[] = {
    STACK_SIZES,
    HEADS(0, 0),
    SIZE("mlp_hidden_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    POSITIONS(4096),
    FLAG("weight_tying", tied, 0),
    FLAG("include_bias", out_bias, 0),
    FLAG("include_bias", ffn_bias, 0),
    FLAG("include_qkv_bias", qkv_bias, 0),
    CONSTANT(ffn_gated, 1),
    CONSTANT(both_ways, 1),
    END,
};

static const RhField LLADA_MOE[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(8192),
    ATTENTION_BIAS(0),
    FLAG("qk_layernorm", qk_norm, 0),
    EXPERTS("num_experts"),
    SIZE("expert_intermediate_size", expert_ffn, WIDTH_MAX, 0),
    CONSTANT(both_ways, 1),
    END,
};

static const RhField LLADA2_MOE[] = {
    LLAMA_SIZES,
    HEADS(0, 0),
    POSITIONS(16384),
    FLAG("use_qkv_bias", qkv_bias, 0),
    FLAG("use_bias", out_bias, 0),
    FLAG("use_bias", ffn_bias, 0),
    EXPERTS("num_experts"),
    SIZE("moe_intermediate_size", expert_ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    COUNT("num_shared_experts", shared_experts, EXPERTS_MAX, 0),
    COUNT("first_k_dense_replace", dense_layers, LAYERS_MAX, 0),
    COUNT("n_group", expert_groups, EXPERTS_MAX, 0),
    COUNT("topk_group", expert_groups_chosen, EXPERTS_MAX, 0),
    FLAG("use_qk_norm", qk_norm, 1),
    CONSTANT(router_bias, 1),
    CONSTANT(both_ways, 1),
    END,
};

/* DeBERTa (arXiv 2006.03654, 2111.09543): BERT whose scores are of contents and positions, both ways round. Its
 * second version's convolution behind the first layer is left out, and a norm of the positions' table. */
static const RhField DEBERTA[] = {
    BERT_SIZES,
    COUNT("type_vocab_size", token_types, VOCAB_MAX, 0),
    FLAG("tie_word_embeddings", tied, 1),
    FLAG("relative_attention", around_used, 0),
    FLAG("share_att_key", around_shared, 0),
    SIGNED("max_relative_positions", around_most, TOKENS_MAX, -1),
    SIGNED("position_buckets", around_buckets, TOKENS_MAX, -1),
    RATE("hidden_dropout_prob", hidden_dropout, 1),
    RATE("attention_probs_dropout_prob", attention_dropout, 1),
    BERT_REST,
    END,
};

/* ESM-2 (Lin et al. 2023, doi 10.1126/science.ade2574): BERT of proteins with rotation and norms before
 * blocks. Its head for contacts is left out. */
static const RhField ESM[] = {
    LLAMA_SIZES,
    CONSTANT(ffn_gated, 0),
    POSITIONS(1026),
    FLAG("tie_word_embeddings", tied, 1),
    RATE("hidden_dropout_prob", hidden_dropout, 0),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    CONSTANT(both_ways, 1),
    ALL_BIASED,
    END,
};

/* wav2vec 2.0 (arXiv 2006.11477), HuBERT (arXiv 2106.07447), UniSpeech and WavLM (arXiv 2110.13900), whose biases by distance
 * are gated by next to nothing, which is left out. Tokens are 320 samples; what predicts is a matrix of the vocabulary's rows.
 * Adapters of a language (`adapter_attn_dim`) and quantizers are left out. */
#define WAVES                                                                                      \
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("vocab_size", vocab, VOCAB_MAX, 32),                                                  \
        EXPECTED("conv_dim", waves, "512 512 512 512 512 512 512"),                                \
        EXPECTED("conv_kernel", waves, "10 3 3 3 3 2 2"),                                          \
        EXPECTED("conv_stride", waves, "5 2 2 2 2 2 2"), FLAG("conv_bias", conv_bias, 0),          \
        SIZE("num_conv_pos_embedding_groups", wave_groups, WIDTH_MAX, 16),                         \
        RATE("hidden_dropout", hidden_dropout, 1),                                                 \
        RATE("attention_dropout", attention_dropout, 1), CONSTANT(positions, TOKENS_MAX),          \
        CONSTANT(both_ways, 1), ALL_BIASED

static const RhField WAV2VEC2[] = {
    WAVES,
    BEGINS("feat_extract_norm", wave_norms, "layer", 0),
    SIZE("num_conv_pos_embeddings", wave_taps, TOKENS_MAX, 128),
    FLAG("do_stable_layer_norm", norms_before, 0),
    END,
};

static const RhField WAVLM[] = {
    WAVES,
    BEGINS("feat_extract_norm", wave_norms, "layer", 0),
    SIZE("num_conv_pos_embeddings", wave_taps, TOKENS_MAX, 128),
    SIZE("num_buckets", distances, TOKENS_MAX, 320),
    FLAG("do_stable_layer_norm", norms_before, 0),
    END,
};

/* W2v-BERT 2.0 (arXiv 2312.05187, section 3.2): Conformers (arXiv 2005.08100), each a network, attention, a convolution and a
 * network, which are three layers here, on frames of a spectrum. Left out: keys by distance, a table of 73 rows a layer, and the norm
 * behind each Conformer (0.03 % of the parameters). */
static const RhField WAV2VEC2_BERT[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("vocab_size", vocab, VOCAB_MAX, 32),
    SIZE("feature_projection_input_dim", frame_columns, WIDTH_MAX, 160),
    SIZE("conv_depthwise_kernel_size", conv_size, HEAD_SIZE_MAX, 31),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(positions, TOKENS_MAX),
    CONSTANT(both_ways, 1),
    ALL_BIASED,
    END,
};

/* wav2vec 2.0 of Conformers (fairseq, 2022; transformers' modeling_wav2vec2_conformer.py): scores by distance in each, or rotation. Its
 * convolution for positions is in the weights and is not used: left out, as is the norm behind each Conformer. */
static const RhField WAV2VEC2_CONFORMER[] = {
    WAVES,
    BEGINS("feat_extract_norm", wave_norms, "layer", 0),
    SIZE("conv_depthwise_kernel_size", conv_size, HEAD_SIZE_MAX, 31),
    BEGINS_OR_NULL("position_embeddings_type", around_used, "relative", 1),
    END,
};

/* Parakeet with a CTC head (FastConformer, arXiv 2305.05084): scores by distance, whose rows are made for every sample, a token of
 * `subsampling_factor` frames of a spectrum. The norm behind each Conformer but the last, and the head's bias, are left out. */
#define PARAKEET(key) "encoder_config." key
static const RhField PARAKEET_CTC[] = {
    SIZE(PARAKEET("num_hidden_layers"), layers, LAYERS_MAX, 24),
    SIZE(PARAKEET("hidden_size"), hidden, WIDTH_MAX, 1024),
    SIZE(PARAKEET("num_attention_heads"), heads, HEADS_MAX, 8),
    SIZE(PARAKEET("intermediate_size"), ffn, WIDTH_MAX, 4096),
    SIZE("vocab_size", vocab, VOCAB_MAX, RH_FIELD_REQUIRED),
    FLAG(PARAKEET("attention_bias"), qkv_bias, 1),
    FLAG(PARAKEET("attention_bias"), out_bias, 1),
    FLAG(PARAKEET("attention_bias"), ffn_bias, 1),
    FLAG(PARAKEET("convolution_bias"), scan_bias, 1),
    SIZE(PARAKEET("conv_kernel_size"), conv_size, HEAD_SIZE_MAX, 9),
    SIZE(PARAKEET("num_mel_bins"), spectrum_rows, TOKENS_MAX, 80),
    SIZE(PARAKEET("subsampling_conv_channels"), spectrum_channels, WIDTH_MAX, 256),
    {PARAKEET("subsampling_factor"), AT(spectrum_factor), RH_FIELD_SIZE, 2, 64, 8, false, NULL},
    {PARAKEET("subsampling_conv_kernel_size"), AT(spectrum_taps), RH_FIELD_SIZE, 3, 3, 3, false,
     NULL},
    {PARAKEET("subsampling_conv_stride"), AT(spectrum_taps), RH_FIELD_SIZE, 2, 2, 2, false, NULL},
    RATE(PARAKEET("dropout"), hidden_dropout, 1),
    RATE(PARAKEET("attention_dropout"), attention_dropout, 1),
    CONSTANT(positions, TOKENS_MAX),
    CONSTANT(around_used, 1),
    CONSTANT(around_own, 1),
    CONSTANT(both_ways, 1),
    END,
};

static const RhLayerWord CONFORMER_WORDS[] = {
    {.word = "conformer", .mixer = &rh_glu_convolution, .ffn = RH_FFN_DENSE, .before = "attention"},
    {.word = "attention", .ffn = RH_FFN_ABSENT, .before = "network"},
    {.word = "network", .no_mixer = true, .ffn = RH_FFN_DENSE},
    {0},
};

/* data2vec (arXiv 2202.03555): five convolutions for positions. */
static const RhField DATA2VEC_AUDIO[] = {
    WAVES,
    SIZE("num_conv_pos_embeddings", wave_layers, LAYERS_MAX, 5),
    SIZE("conv_pos_kernel_size", wave_taps, TOKENS_MAX, 19),
    CONSTANT(wave_norms, 1),
    END,
};

/* Norms behind blocks: one behind what makes tokens, too. */
static void settle_waves(RhConfig *c)
{
    c->embedding_norm = !c->norms_before;
}

/* The table has rows for as many positions on either side. */
static void settle_deberta(RhConfig *c)
{
    int64_t most = c->around_most > 0 ? c->around_most : c->positions;
    int64_t side = c->around_buckets > 0 ? c->around_buckets : most;
    c->around = c->around_used ? 2 * MIN(side, TOKENS_MAX / 2) : 0;
    c->around_own = !c->around_shared;
    c->distances = c->around * (c->hidden / MAX(c->heads, 1));
}

static void settle_nomic(RhConfig *c)
{
    if (c->expert_step == 0 || c->experts == 0)
        c->experts = c->experts_per_token = 0;
}

static void settle_xlm(RhConfig *c)
{
    c->token_types = c->languages_used && c->languages > 1 ? c->languages : 0;
}

static void settle_big_bird(RhConfig *c)
{
    c->window_used = c->sparse_near;
    c->window = MIN((c->sparse_stride + 5) * c->sparse_block, c->positions);
}

static void settle_layoutlm(RhConfig *c)
{
    c->token_types += 4 * c->registers;
    c->registers = 0;
}

#define ENCODER(name, norm, position, fields, settle)                                              \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &rh_attention_both_ways, &rh_ffn, fields,    \
            NULL, "sliding_attention", settle                                                      \
    }

#define DISENTANGLED(name)                                                                         \
    {                                                                                              \
        name, RH_NORM_LAYER, RH_POSITION_NONE, &rh_attention_disentangled, &rh_ffn, DEBERTA, NULL, \
            "sliding_attention", settle_deberta                                                    \
    }

#define CONFORMER(name, position, mixer)                                                           \
    {                                                                                              \
        name, RH_NORM_LAYER, RH_POSITION_##position, &(mixer), &rh_ffn, WAV2VEC2_CONFORMER,        \
            CONFORMER_WORDS, "conformer", NULL                                                     \
    }

const RhFamily rh_families_encoders[] = {
    ENCODER("albert", LAYER, LEARNED, ALBERT, NULL),
    ENCODER("bert", LAYER, LEARNED, BERT, NULL),
    ENCODER("bert-generation", LAYER, LEARNED, DISTILBERT, NULL),
    ENCODER("bidir_mistral", RMS, ROTARY, BIDIREC, NULL),
    ENCODER("big_bird", LAYER, LEARNED, BIG_BIRD, settle_big_bird),
    ENCODER("camembert", LAYER, LEARNED, BERT, NULL),
    ENCODER("data2vec-text", LAYER, LEARNED, BERT, NULL),
    DISENTANGLED("deberta"),
    DISENTANGLED("deberta-v2"),
    ENCODER("data2vec-audio", LAYER, NONE, DATA2VEC_AUDIO, settle_waves),
    ENCODER("distilbert", LAYER, LEARNED, DISTILBERT, NULL),
    ENCODER("dpr", LAYER, LEARNED, BERT, NULL),
    ENCODER("Dream", RMS, ROTARY, DREAM, NULL),
    ENCODER("electra", LAYER, LEARNED, ELECTRA, NULL),
    ENCODER("ernie", LAYER, LEARNED, BERT, NULL),
    ENCODER("esm", LAYER, ROTARY, ESM, NULL),
    ENCODER("eurobert", RMS, ROTARY, EUROBERT, NULL),
    ENCODER("flaubert", LAYER, LEARNED, XLM, settle_xlm),
    ENCODER("gte", LAYER, ROTARY, GTE, NULL),
    ENCODER("hubert", LAYER, NONE, WAV2VEC2, settle_waves),
    ENCODER("ibert", LAYER, LEARNED, BERT, NULL),
    ENCODER("jina_bert", LAYER, NONE, JINA_BERT, NULL),
    ENCODER("jina_embeddings_v3", LAYER, ROTARY, JINA_V3, NULL),
    ENCODER("layoutlm", LAYER, LEARNED, LAYOUTLM, settle_layoutlm),
    ENCODER("llada", RMS, ROTARY, LLADA, NULL),
    ENCODER("llada_moe", RMS, ROTARY, LLADA_MOE, NULL),
    ENCODER("llada2_moe", RMS, ROTARY, LLADA2_MOE, NULL),
    ENCODER("llama_bidirec", RMS, ROTARY, BIDIREC, NULL),
    ENCODER("longformer", LAYER, LEARNED, LONGFORMER, NULL),
    ENCODER("megatron-bert", LAYER, LEARNED, BERT, NULL),
    ENCODER("modernbert", LAYER, ROTARY, MODERNBERT, NULL),
    ENCODER("mpnet", LAYER, LEARNED, MPNET, NULL),
    ENCODER("new", LAYER, ROTARY, GTE, NULL),
    ENCODER("nomic_bert", LAYER, ROTARY, NOMIC_BERT, settle_nomic),
    ENCODER("rembert", LAYER, LEARNED, REMBERT, NULL),
    ENCODER("roberta", LAYER, LEARNED, BERT, NULL),
    ENCODER("roberta-prelayernorm", LAYER, LEARNED, BERT, NULL),
    ENCODER("roformer", LAYER, ROTARY, ROFORMER, NULL),
    ENCODER("splinter", LAYER, LEARNED, BERT, NULL),
    ENCODER("unispeech", LAYER, NONE, WAV2VEC2, settle_waves),
    ENCODER("unispeech-sat", LAYER, NONE, WAV2VEC2, settle_waves),
    ENCODER("wav2vec2", LAYER, NONE, WAV2VEC2, settle_waves),
    {"wav2vec2-bert", RH_NORM_LAYER, RH_POSITION_NONE, &rh_attention_both_ways, &rh_ffn,
     WAV2VEC2_BERT, CONFORMER_WORDS, "conformer", NULL},
    {"parakeet_ctc", RH_NORM_LAYER, RH_POSITION_NONE, &rh_attention_relative, &rh_ffn, PARAKEET_CTC,
     CONFORMER_WORDS, "conformer", NULL},
    CONFORMER("wav2vec2-conformer", NONE, rh_attention_relative),
    CONFORMER("wav2vec2-conformer-rotary", ROTARY, rh_attention_both_ways),
    ENCODER("wavlm", LAYER, NONE, WAVLM, settle_waves),
    ENCODER("xlm", LAYER, LEARNED, XLM, settle_xlm),
    ENCODER("xlm-roberta", LAYER, LEARNED, BERT, NULL),
    ENCODER("xlm-roberta-xl", LAYER, LEARNED, BERT, NULL),
    {"xlnet", RH_NORM_LAYER, RH_POSITION_NONE, &rh_attention_relative, &rh_ffn, XLNET, NULL,
     "sliding_attention", NULL},
    {0},
};
