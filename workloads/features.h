#pragma once
/* By what a model is more than a decoder of one kind of layers, each an attention of grouped heads and a network of
 * two or three matrices or of experts: a bit each. Who says models in another program's words names the bits that it has
 * words for, so that a figure which is new here is refused there, and never left out. */
#include "workloads/model.h"

typedef enum {
    RH_FEATURE_ENCODER = 1 << 0, /* layers that look at an encoder's tokens */
    RH_FEATURE_SHARED = 1 << 1,  /* a narrow table of tokens, parameters of other layers */
    RH_FEATURE_BESIDE =
        1
        << 2, /* what layers read beside the hidden state (rh_model_reads_beside, borrows_index) */
    RH_FEATURE_KINDS = 1 << 3,   /* several kinds of layers */
    RH_FEATURE_LATENT = 1 << 4,  /* latent attention */
    RH_FEATURE_MIXER = 1 << 5,   /* any other mixer; gates, shared or unlike heads, no mask */
    RH_FEATURE_WINDOW = 1 << 6,  /* queries that see some tokens alone */
    RH_FEATURE_NORMS = 1 << 7,   /* norms behind blocks */
    RH_FEATURE_FRONT = 1 << 8,   /* norms, types, pictures, sounds before the first layer */
    RH_FEATURE_FFN = 1 << 9,     /* another network, or none */
    RH_FEATURE_EXPERTS = 1 << 10 /* experts with biases, in a latent; shared ones behind a gate */
} RhFeature;

/* Those of all kinds of the model's layers. */
uint32_t rh_model_features(const RhModel *model);
