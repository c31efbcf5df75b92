#pragma once
/* Colours by meaning, equal in all pictures, in light and dark variants. */

typedef enum {
    /* Work of a GPU, and the memory that belongs to it. */
    RH_COLOR_FORWARD,   /* forward passes and their activations; prefill */
    RH_COLOR_BACKWARD,  /* backward passes and their gradients */
    RH_COLOR_RECOMPUTE, /* recomputation and its memory */
    RH_COLOR_OPTIMIZER, /* the optimizer and its states */
    RH_COLOR_DECODE,    /* decode */
    /* Communication and waits. */
    RH_COLOR_TENSOR,
    RH_COLOR_CONTEXT,
    RH_COLOR_EXPERT,
    RH_COLOR_DATA,
    RH_COLOR_TRANSFER, /* messages between stages; keys and values between pools */
    RH_COLOR_IDLE,     /* idle: the pipeline bubble; requests: queued */
    RH_COLOR_SLOWER,   /* waiting for others: slower GPUs, prompts of other requests */
    RH_COLOR_LOST,     /* lost work of failed servers */
    RH_COLOR_OTHER,
    /* Other memory. */
    RH_COLOR_WEIGHTS,
    RH_COLOR_LOGITS,
    RH_COLOR_BUFFERS, /* communication buffers */
    RH_COLOR_RESERVE,
    RH_COLOR_CACHE, /* keys and values */
    /* Loads: of links, arriving requests, existing replicas. */
    RH_COLOR_LOAD,
    /* Layouts and deployments: ranked or chosen, faster but with a risk of not fitting, not
     * fitting, and others. */
    RH_COLOR_CHOSEN,
    RH_COLOR_FULLER,
    RH_COLOR_UNFIT,
    RH_COLOR_SEEN,
    RH_COLOR_SERIES, /* first of RH_COLOR_SERIES_COUNT for named series: a cluster, a source */
} RhColor;

#define RH_COLOR_SERIES_COUNT 8
#define RH_COLOR_LAST         (RH_COLOR_SERIES + RH_COLOR_SERIES_COUNT)

/* Returns the colour of the i-th named series; the last colour for all further ones. */
RhColor rh_color_series(int i);
const char *rh_color_light(RhColor color); /* "#0072b2" */
const char *rh_color_dark(RhColor color);
