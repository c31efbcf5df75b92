#pragma once
/* Numerics of a model: what its file says that changes what the model computes and no cost. Launch scripts say it
 * (strategies/launch/); nothing else reads it. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"

/* How rotary positions were stretched to longer contexts: `rope_scaling` of a config.json (Transformers,
 * modeling_rope_utils.py). A figure that is not said is 0. */
typedef struct {
    const char *type; /* "llama3", "linear", "yarn", ..., interned; NULL: they were not */
    double factor;
    double low_freq_factor, high_freq_factor;            /* of llama3 */
    double beta_fast, beta_slow, mscale, mscale_all_dim; /* of yarn */
    int64_t original_positions;                          /* tokens of the context before */
    bool by_layer;                                       /* layers of several kinds have one each */
} RhRopeScaling;

typedef struct {
    const char *activation; /* of feed-forward layers, as "silu"; interned; NULL: not said */
    double norm_epsilon;    /* 0: not said */
    double rotary_frac;     /* share of a head's columns that positions turn; 1 where not said */
    bool gain_from_one;     /* norms multiply by 1 + their weights */
    RhRopeScaling rope;
} RhNumerics;

/* From the object that describes a model's layers; problems are the document's. */
RhNumerics rh_numerics_read(RhJson *doc, const RhJsonNode *decoder);
/* Is it scaled as Llama 3.1 was: low 1, high 4, of 8,192 tokens, whatever the factor? Some frameworks know that alone. */
bool rh_rope_is_llama(const RhRopeScaling *rope);
