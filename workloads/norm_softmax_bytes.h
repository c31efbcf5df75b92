#pragma once
/* What passes over tensors move beyond what can be counted: assumed, and facts, so that they are shown, can be set
 * (stack.norm_bytes=4) and weighed like all others. What is counted stands with its operator. */
#include "base/fact.h"

/* Bytes an element of 2 bytes, or of a score of attention that is not fused. */
typedef struct {
    RhFact norm_bytes;       /* a norm in one kernel, forward */
    RhFact eager_norm_bytes; /* an RMSNorm step by step, forward */
    RhFact backward_excess;  /* norms, residual sums and rotation move so much more backward */
    RhFact softmax_backward_bytes;
    RhFact eager_softmax_bytes, eager_softmax_backward_bytes;
} RhPasses;

#define RH_PASSES(number, counted, runs)                                                           \
    {                                                                                              \
        .value = (number), .tag = RH_TAG_ASSUMED, .date = "2026-11",                               \
        .source = counted "; a round number that published steps ask for: " runs                   \
    }
#define RH_PASSES_SWEEP "the layout sweep of Aleph Alpha (arXiv 2311.05610)"
#define RH_PASSES_ASSUMED                                                                          \
    {                                                                                              \
        .norm_bytes = RH_PASSES(8, "counted, it reads x and writes y: 4",                          \
                                RH_PASSES_SWEEP " with an RMSNorm kernel, dgxc-benchmarking"),     \
        .eager_norm_bytes = RH_PASSES(68,                                                          \
                                      "counted, casts 2 + 4 and 4 + 2, square 4 + 4, mean 4, "     \
                                      "scale 4 + 4, weight 2 + 2, two on statistics: 36",          \
                                      RH_PASSES_SWEEP " without the kernel"),                      \
        .backward_excess = RH_PASSES(1.2, "gradients are summed where tensors have two uses",      \
                                     RH_PASSES_SWEEP ", dgxc-benchmarking"),                       \
        .softmax_backward_bytes =                                                                  \
            RH_PASSES(16, "counted: 5 + 6", RH_PASSES_SWEEP " without fused attention"),           \
        .eager_softmax_bytes =                                                                     \
            RH_PASSES(34, "seven kernels", RH_PASSES_SWEEP " without a softmax kernel"),           \
        .eager_softmax_backward_bytes =                                                            \
            RH_PASSES(40, "seven kernels", RH_PASSES_SWEEP " without a softmax kernel"),           \
    }
extern const RhPasses rh_passes_assumed;
