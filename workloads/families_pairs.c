/* Families of two towers side by side, one that sees and one that reads, which meet in a loss (operators/towers.c). transformers writes
 * of each part what its class's defaults are not (google/siglip-base-patch16-224 says no size at all): so every size has that default
 * here. Sizes of the model are the reader's, those of an encoder the other's. */
#include <glib.h>

#include "workloads/fields.h"
#include "workloads/operators/operator.h"

#define READER(width, count, ffn_width, words, tokens)                                             \
    SIZE("text_config.num_hidden_layers", layers, LAYERS_MAX, 12),                                 \
        SIZE("text_config.hidden_size", hidden, WIDTH_MAX, width),                                 \
        SIZE("text_config.num_attention_heads", heads, HEADS_MAX, count),                          \
        SIZE("text_config.intermediate_size", ffn, WIDTH_MAX, ffn_width),                          \
        SIZE("text_config.vocab_size", vocab, VOCAB_MAX, words),                                   \
        SIZE("text_config.max_position_embeddings", positions, TOKENS_MAX, tokens)
#define WATCHER(side)                                                                              \
    SIZE("vision_config.num_hidden_layers", encoder_layers, LAYERS_MAX, 12),                       \
        SIZE("vision_config.hidden_size", encoder_hidden, WIDTH_MAX, 768),                         \
        SIZE("vision_config.num_attention_heads", encoder_heads, HEADS_MAX, 12),                   \
        SIZE("vision_config.intermediate_size", encoder_ffn, WIDTH_MAX, 3072),                     \
        SIZE("vision_config.patch_size", patch, TOKENS_MAX, side),                                 \
        SIZE("vision_config.num_channels", channels, WIDTH_MAX, 3), CONSTANT(patch_rows, 1)
#define PAIR CONSTANT(paired, 1), ALL_BIASED

/* CLIP (arXiv 2103.00020): a token that is classified in place of a bias of patches, a norm before the layers that see; neither
 * projection has a bias. MetaCLIP 2 (arXiv 2507.22062) has its code, and more words. */
#define CLIP_SIZES(words)                                                                          \
    READER(512, 8, 2048, words, 77), WATCHER(32),                                                  \
        SIZE("vision_config.image_size", image, TOKENS_MAX, 224),                                  \
        SIZE("projection_dim", projection, WIDTH_MAX, 512), CONSTANT(patch_norm, 1),               \
        CONSTANT(registers, 1), CONSTANT(loss_params, 1), PAIR

static const RhField CLIP[] = {CLIP_SIZES(49408), END};
static const RhField METACLIP_2[] = {CLIP_SIZES(901629), END};

/* SigLIP (arXiv 2303.15343) and its second (arXiv 2502.14786): readers without a mask, a probe that pools what is seen, no projection
 * of it; the loss learns a scale and a bias. The second, where pictures may have any shape, says how many patches there are at most. */
#define SIGLIP_SIZES                                                                               \
    WATCHER(16), CONSTANT(both_ways, 1), CONSTANT(pools_by_probe, 1),                              \
        CONSTANT(projection_bias, 1), CONSTANT(loss_params, 2), PAIR

static const RhField SIGLIP[] = {
    READER(768, 12, 3072, 32000, 64),
    SIGLIP_SIZES,
    SIZE("vision_config.image_size", image, TOKENS_MAX, 224),
    END,
};

static const RhField SIGLIP2[] = {
    READER(768, 12, 3072, 32000, 64),
    SIGLIP_SIZES,
    SIZE("vision_config.num_patches", encoder_positions, TOKENS_MAX, 256),
    CONSTANT(image, TOKENS_MAX),
    END,
};

static void settle(RhConfig *c)
{
    int64_t side = MAX(c->image / MAX(c->patch, 1), 1);
    c->encoder_positions = side * side + c->registers;
}

#define PAIR_ROW(name, fields, settle)                                                             \
    {                                                                                              \
        name, RH_NORM_LAYER, RH_POSITION_LEARNED, &rh_attention, &rh_ffn, fields, NULL,            \
            "sliding_attention", settle                                                            \
    }

const RhFamily rh_families_pairs[] = {
    PAIR_ROW("clip", CLIP, settle),
    PAIR_ROW("metaclip_2", METACLIP_2, settle),
    PAIR_ROW("siglip", SIGLIP, settle),
    PAIR_ROW("siglip2", SIGLIP2, NULL),
    {0},
};

bool rh_family_is_of_towers(const RhFamily *family)
{
    bool among = false;
    for (const RhFamily *f = rh_families_pairs; f->name != NULL; f++)
        among |= f == family;
    return among;
}

static const struct {
    const char *whole, *vision, *text;
} TOWERS[] = {
    {"clip", "clip_vision_model", "clip_text_model"},
    {"metaclip_2", "metaclip_2_vision_model", "metaclip_2_text_model"},
    {"siglip", "siglip_vision_model", "siglip_text_model"},
    {"siglip2", "siglip2_vision_model", "siglip2_text_model"},
};

void rh_family_towers(const RhFamily *family, const char **vision, const char **text)
{
    *vision = *text = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(TOWERS); i++)
        if (g_str_equal(TOWERS[i].whole, family->name)) {
            *vision = TOWERS[i].vision;
            *text = TOWERS[i].text;
        }
}
