/* Families that see pictures, whole ones and towers of models of several parts, and the towers that read beside these. Keys and
 * defaults as in families_dense.c. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

/* ViT (arXiv 2010.11929): tokens are patches of a picture and one that is classified; the vocabulary is
 * the classes. */
static const RhField VIT[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("image_size", image, TOKENS_MAX, 224),
    SIZE("patch_size", patch, TOKENS_MAX, 16),
    SIZE("num_channels", channels, WIDTH_MAX, 3),
    MEMBERS("id2label", vocab, VOCAB_MAX),
    RATE("hidden_dropout_prob", hidden_dropout, 0),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    CONSTANT(both_ways, 1),
    FLAG("qkv_bias", qkv_bias, 1),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    END,
};

/* Towers of CLIP (arXiv 2103.00020), SigLIP (arXiv 2303.15343) and DINOv2 (arXiv 2304.07193) that look at
 * pictures, alone; the vocabulary is the columns they put out. Norms and projections behind the last layer
 * are left out, as is DINOv2's scale of each layer's output. */
#define TOWER_SIZES(picture, side)                                                                 \
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("image_size", image, TOKENS_MAX, picture),                                            \
        SIZE("patch_size", patch, TOKENS_MAX, side), SIZE("num_channels", channels, WIDTH_MAX, 3), \
        CONSTANT(both_ways, 1), ALL_BIASED
/* Defaults of pictures and patches are those of each type's configuration in transformers. */
#define WATCHER_SIZES(picture, side)                                                               \
    TOWER_SIZES(picture, side), SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),      \
        SIZE("projection_dim", vocab, VOCAB_MAX, 512)

static const RhField CLIP_VISION[] = {WATCHER_SIZES(224, 32), END};
static const RhField MLCD_VISION[] = {WATCHER_SIZES(336, 14), END};
static const RhField OWLVIT_VISION[] = {WATCHER_SIZES(768, 32), END};
static const RhField OWLV2_VISION[] = {WATCHER_SIZES(768, 16), END};

/* ... and those that read: CLIP's under a causal mask, SigLIP's without; nothing is asked for a token. */
#define READER_SIZES(tokens, words)                                                                \
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),                                 \
        SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),                          \
        SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),                              \
        SIZE("vocab_size", vocab, VOCAB_MAX, words), POSITIONS(tokens), CONSTANT(tied, 1),         \
        ALL_BIASED

static const RhField CLIP_TEXT[] = {READER_SIZES(77, 49408), END};
static const RhField SIGLIP_TEXT[] = {READER_SIZES(64, 32000), CONSTANT(both_ways, 1), END};

/* No token is classified: all are pooled. */
static const RhField SIGLIP_VISION[] = {
    TOWER_SIZES(224, 16),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    CONSTANT(vocab, 2),
    END,
};

/* SigLIP 2's with pictures of any shape (arXiv 2502.14786): so many patches at most, which are its positions. */
static const RhField SIGLIP2_VISION[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_patches", positions, TOKENS_MAX, 256),
    SIZE("patch_size", patch, TOKENS_MAX, 16),
    SIZE("num_channels", channels, WIDTH_MAX, 3),
    CONSTANT(image, TOKENS_MAX),
    CONSTANT(both_ways, 1),
    CONSTANT(vocab, 2),
    ALL_BIASED,
    END,
};

/* Gated networks are two thirds as wide, in steps of 8. */
static const RhField DINOV2[] = {
    TOWER_SIZES(224, 16),
    SIZE("mlp_ratio", ffn_multiple, 64, 4),
    FLAG("use_swiglu_ffn", ffn_gated, 0),
    CONSTANT(vocab, 2),
    END,
};

/* With registers (arXiv 2309.16588), which are further tokens. DINOv3 (arXiv 2508.10104) has rotation in place of
 * positions. */
static const RhField DINOV2_REGISTERS[] = {
    TOWER_SIZES(224, 16),
    SIZE("mlp_ratio", ffn_multiple, 64, 4),
    FLAG("use_swiglu_ffn", ffn_gated, 0),
    COUNT("num_register_tokens", registers, TOKENS_MAX, 4),
    CONSTANT(vocab, 2),
    END,
};

static const RhField DINOV3[] = {
    TOWER_SIZES(224, 16),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    FLAG("use_gated_mlp", ffn_gated, 0),
    COUNT("num_register_tokens", registers, TOKENS_MAX, 0),
    CONSTANT(vocab, 2),
    END,
};

/* Pixtral's tower (arXiv 2410.07073): a llama on patches, without biases. */
static const RhField PIXTRAL[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("image_size", image, TOKENS_MAX, 1024),
    SIZE("patch_size", patch, TOKENS_MAX, 16),
    SIZE("num_channels", channels, WIDTH_MAX, 3),
    SIZE("rope_theta", rotary_base, BASE_MAX, 10000),
    RATE("attention_dropout", attention_dropout, 0),
    CONSTANT(both_ways, 1),
    CONSTANT(ffn_gated, 1),
    CONSTANT(vocab, 2),
    END,
};

/* BEiT and data2vec's tower (arXiv 2106.08254, 2202.03555): biases by distance in place of positions, in each layer or one
 * table for all. Keys have no bias, which is counted; scales of layers' outputs are left out. */
static const RhField BEIT[] = {
    TOWER_SIZES(224, 16),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    MEMBERS("id2label", vocab, VOCAB_MAX),
    FLAG("use_relative_position_bias", distances_each, 0),
    FLAG("use_shared_relative_position_bias", around_shared, 0),
    END,
};

/* I-JEPA (arXiv 2301.08243): a ViT without a token that is classified. */
static const RhField IJEPA[] = {
    TOWER_SIZES(224, 16),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    MEMBERS("id2label", vocab, VOCAB_MAX),
    END,
};

/* Idefics 2's and 3's towers and SmolVLM's: SigLIP's with patches of 32. */
static const RhField IDEFICS_VISION[] = {
    TOWER_SIZES(224, 32),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    CONSTANT(vocab, 2),
    END,
};

/* The audio spectrogram transformer (arXiv 2104.01778): a ViT on squares of a spectrum, which overlap; two tokens more. */
static const RhField SPECTROGRAM[] = {
    SIZE("num_hidden_layers", layers, LAYERS_MAX, RH_FIELD_REQUIRED),
    SIZE("hidden_size", hidden, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("num_attention_heads", heads, HEADS_MAX, RH_FIELD_REQUIRED),
    SIZE("intermediate_size", ffn, WIDTH_MAX, RH_FIELD_REQUIRED),
    SIZE("patch_size", patch, TOKENS_MAX, 16),
    SIZE("frequency_stride", sparse_block, TOKENS_MAX, 10),
    SIZE("time_stride", sparse_stride, TOKENS_MAX, 10),
    SIZE("max_length", sparse_near, TOKENS_MAX, 1024),
    SIZE("num_mel_bins", image, TOKENS_MAX, 128),
    MEMBERS("id2label", vocab, VOCAB_MAX),
    RATE("hidden_dropout_prob", hidden_dropout, 0),
    RATE("attention_probs_dropout_prob", attention_dropout, 0),
    FLAG("qkv_bias", qkv_bias, 1),
    CONSTANT(channels, 1),
    CONSTANT(registers, 1),
    CONSTANT(both_ways, 1),
    CONSTANT(out_bias, 1),
    CONSTANT(ffn_bias, 1),
    END,
};

static void settle_dinov2(RhConfig *c)
{
    int64_t width = c->ffn_multiple * c->hidden;
    int64_t side = MAX(c->image / MAX(c->patch, 1), 1);
    if (c->ffn == 0)
        c->ffn = c->ffn_gated ? (2 * width / 3 + 7) / 8 * 8 : width;
    c->positions = side * side + 1 + c->registers;
}

static void settle_siglip(RhConfig *c)
{
    int64_t side = MAX(c->image / MAX(c->patch, 1), 1);
    c->positions = side * side;
}

static void settle_vit(RhConfig *c)
{
    int64_t side = MAX(c->image / MAX(c->patch, 1), 1);
    c->positions = side * side + 1 + c->registers;
    c->vocab = MAX(c->vocab, 2); /* as transformers, where no classes are named */
}

/* A row for each distance of two patches, and three of the classified token's; learned positions are none. */
static void settle_beit(RhConfig *c)
{
    int64_t side = MIN(MAX(c->image / MAX(c->patch, 1), 1), 1 << 15);
    settle_vit(c);
    c->distances = c->distances_each || c->around_shared ? (2 * side - 1) * (2 * side - 1) + 3 : 0;
}

static void settle_ijepa(RhConfig *c)
{
    settle_siglip(c);
    c->vocab = MAX(c->vocab, 2);
}

static void settle_spectrogram(RhConfig *c)
{
    int64_t rows = MAX(c->image - c->patch, 0) / MAX(c->sparse_block, 1) + 1;
    int64_t columns = MAX(c->sparse_near - c->patch, 0) / MAX(c->sparse_stride, 1) + 1;
    c->positions = rows * columns + 1 + c->registers;
    c->vocab = MAX(c->vocab, 2);
}

#define ENCODER(name, norm, position, fields, settle)                                              \
    {                                                                                              \
        name, RH_NORM_##norm, RH_POSITION_##position, &rh_attention_both_ways, &rh_ffn, fields,    \
            NULL, "sliding_attention", settle                                                      \
    }
#define READER(name)                                                                               \
    {                                                                                              \
        name, RH_NORM_LAYER, RH_POSITION_LEARNED, &rh_attention, &rh_ffn, CLIP_TEXT, NULL,         \
            "sliding_attention", NULL                                                              \
    }
#define WATCHER(name, fields) ENCODER(name, LAYER, LEARNED, fields, settle_vit)

const RhFamily rh_families_towers[] = {
    WATCHER("altclip_vision_model", CLIP_VISION),
    ENCODER("audio-spectrogram-transformer", LAYER, LEARNED, SPECTROGRAM, settle_spectrogram),
    ENCODER("beit", LAYER, NONE, BEIT, settle_beit),
    WATCHER("chinese_clip_vision_model", CLIP_VISION),
    READER("clip_text_model"),
    WATCHER("clip_vision_model", CLIP_VISION),
    READER("clipseg_text_model"),
    WATCHER("clipseg_vision_model", CLIP_VISION),
    ENCODER("data2vec-vision", LAYER, NONE, BEIT, settle_beit),
    ENCODER("deit", LAYER, LEARNED, VIT, settle_vit),
    ENCODER("dinov2", LAYER, LEARNED, DINOV2, settle_dinov2),
    ENCODER("dinov2_with_registers", LAYER, LEARNED, DINOV2_REGISTERS, settle_dinov2),
    ENCODER("dinov3_vit", LAYER, ROTARY, DINOV3, settle_vit),
    ENCODER("idefics2_vision", LAYER, LEARNED, IDEFICS_VISION, settle_siglip),
    ENCODER("idefics3_vision", LAYER, LEARNED, IDEFICS_VISION, settle_siglip),
    ENCODER("ijepa", LAYER, LEARNED, IJEPA, settle_ijepa),
    READER("metaclip_2_text_model"),
    WATCHER("metaclip_2_vision_model", CLIP_VISION),
    ENCODER("mlcd_vision_model", LAYER, ROTARY, MLCD_VISION, settle_vit),
    WATCHER("owlv2_vision_model", OWLV2_VISION),
    WATCHER("owlvit_vision_model", OWLVIT_VISION),
    ENCODER("pixtral", RMS, ROTARY, PIXTRAL, settle_siglip),
    ENCODER("siglip2_text_model", LAYER, LEARNED, SIGLIP_TEXT, NULL),
    ENCODER("siglip2_vision_model", LAYER, LEARNED, SIGLIP2_VISION, NULL),
    ENCODER("siglip_text_model", LAYER, LEARNED, SIGLIP_TEXT, NULL),
    ENCODER("siglip_vision_model", LAYER, LEARNED, SIGLIP_VISION, settle_siglip),
    ENCODER("smolvlm_vision", LAYER, LEARNED, IDEFICS_VISION, settle_siglip),
    ENCODER("vit", LAYER, LEARNED, VIT, settle_vit),
    ENCODER("vit_msn", LAYER, LEARNED, VIT, settle_vit),
    {0},
};
