#pragma once
/* Colours of pictures by what they mean, the same in every picture; and what they are in the dark. */

typedef enum {
    /* What a GPU does, and of its memory what comes of that. */
    RH_COLOR_FORWARD,   /* forward passes and the activations they keep; prompts that are read */
    RH_COLOR_BACKWARD,  /* backward passes and the gradients they make */
    RH_COLOR_RECOMPUTE, /* what is computed once more, and lies there while it is */
    RH_COLOR_OPTIMIZER, /* the optimizer and its states */
    RH_COLOR_DECODE,    /* tokens of answers that are made */
    /* What it communicates, or waits for. */
    RH_COLOR_TENSOR,
    RH_COLOR_CONTEXT,
    RH_COLOR_EXPERT,
    RH_COLOR_DATA,
    RH_COLOR_TRANSFER, /* messages between stages; keys and values between pools */
    RH_COLOR_IDLE,     /* nothing to do: the pipeline's bubble; of a request: it is queued */
    RH_COLOR_SLOWER,   /* others are waited for: slower GPUs, prompts of other requests */
    RH_COLOR_LOST,     /* done in vain: servers that failed */
    RH_COLOR_OTHER,
    /* What memory holds beside the above. */
    RH_COLOR_WEIGHTS,
    RH_COLOR_LOGITS,
    RH_COLOR_BUFFERS, /* of communication */
    RH_COLOR_RESERVE,
    RH_COLOR_CACHE, /* keys and values */
    /* Loads: of links, requests that come, replicas that are there. */
    RH_COLOR_LOAD,
    /* Layouts and deployments that were looked at: the ranked or chosen, one that is quicker but may not fit, one that
     * does not, and others. */
    RH_COLOR_CHOSEN,
    RH_COLOR_FULLER,
    RH_COLOR_UNFIT,
    RH_COLOR_SEEN,
    RH_COLOR_SERIES, /* the first of RH_COLOR_SERIES_COUNT for what has a name of its own: a cluster, a source */
} RhColor;

#define RH_COLOR_SERIES_COUNT 8
#define RH_COLOR_LAST         (RH_COLOR_SERIES + RH_COLOR_SERIES_COUNT)

/* The colour of the i-th thing with a name of its own; the last again for those beyond. */
RhColor rh_color_series(int i);
const char *rh_color_light(RhColor color); /* "#0072b2" */
const char *rh_color_dark(RhColor color);
