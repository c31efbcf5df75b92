#include "workloads/config/config_quantization.h"

#include <glib.h>

#include "base/interned_strings.h"

/* Names of quantisation methods: of transformers (quantizers/auto.py), of ModelOpt (`quant_algo`)
 * and of compressed-tensors (`format`). Bits of 0: the file gives them. Blocks: the file gives a
 * size of blocks. */
static const struct {
    const char *word;
    int bits;
    bool blocks;
    const char *recipe;
} STORED[] = {
    {"fp8", 0, true, "fp8-block"},
    {"fp8", 0, false, "fp8-current"},
    {"FP8", 0, false, "fp8"},
    {"fbgemm_fp8", 0, false, "fp8-current"},
    {"float-quantized", 0, false, "fp8-current"},
    {"NVFP4", 0, false, "nvfp4"},
    {"nvfp4-pack-quantized", 0, false, "nvfp4"},
    {"mxfp4", 0, false, "mxfp4-experts"},
    {"awq", 4, false, "int4-weights"},
    {"gptq", 4, false, "int4-weights"},
    {"gptq", 8, false, "int8-weights"},
    {"pack-quantized", 4, false, "int4-weights"},
    {"pack-quantized", 8, false, "int8-weights"},
};

static const char *word_of(RhJson *doc, const RhJsonNode *said)
{
    static const char *const keys[] = {"format", "quant_algo", "quant_method"};
    const char *word = "";
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const char *text = rh_json_string_or(doc, said, keys[i], "");
        for (size_t row = 0; row < G_N_ELEMENTS(STORED); row++)
            if (g_str_equal(STORED[row].word, text))
                return text;
        word = *text != 0 ? text : word;
    }
    return word;
}

/* Bits per weight: the file's, or those of its first group (compressed-tensors); 4 by default. */
static int bits_of(RhJson *doc, const RhJsonNode *said)
{
    if (rh_json_has(said, "bits"))
        return (int)rh_json_int_or(doc, said, "bits", 1, 64, 4);
    const RhJsonNode *groups = rh_json_member(said, "config_groups");
    const RhJsonNode *group =
        groups && rh_json_kind(groups) == RH_JSON_OBJECT ? rh_json_first(groups) : NULL;
    const RhJsonNode *weights =
        group && rh_json_kind(group) == RH_JSON_OBJECT ? rh_json_member(group, "weights") : NULL;
    return weights && rh_json_kind(weights) == RH_JSON_OBJECT
               ? (int)rh_json_int_or(doc, weights, "num_bits", 1, 64, 4)
               : 4;
}

RhStoredWeights rh_stored_weights_read(RhJson *doc, const RhJsonNode *model)
{
    static const char *const keys[] = {"quantization_config", "compression_config"};
    const RhJsonNode *said = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(keys) && said == NULL; i++)
        if (rh_json_has(model, keys[i]))
            said = rh_json_object(doc, model, keys[i]);
    if (said == NULL)
        return (RhStoredWeights){0};
    const char *word = word_of(doc, said);
    int bits = bits_of(doc, said);
    bool blocks = rh_json_has(said, "weight_block_size");
    RhStoredWeights stored = {.method = rh_intern(*word != 0 ? word : "?")};
    for (size_t i = 0; i < G_N_ELEMENTS(STORED) && stored.recipe == NULL; i++)
        if (g_str_equal(STORED[i].word, word) && (STORED[i].bits == 0 || STORED[i].bits == bits) &&
            (!STORED[i].blocks || blocks))
            stored.recipe = STORED[i].recipe;
    return stored;
}
