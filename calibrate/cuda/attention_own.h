#pragma once
/* Our own flash-style attention, forward and backward, on the matrix units through wmma: correct
 * first, and what is measured where cuDNN is not. Layout [batch, tokens, heads, head size].
 *
 * After FlashAttention-2 (arXiv 2307.08691), algorithms 1 and 2. Head sizes 64 and 128, fp16 and
 * bf16. */
#include "calibrate/cuda/gpu.h"

typedef struct {
    const void *q, *k, *v;
    void *out;
    float *log_sum; /* [batch, heads, query tokens]: of exponentials of the scaled scores */
} RkAttention;

typedef struct {
    RkAttention forward; /* out and log_sum as forward left them */
    const void *out_gradient;
    void *q_gradient, *k_gradient, *v_gradient;
    float *q_sum;    /* as q, fp32: scratch */
    float *products; /* as log_sum: scratch, out times its gradient */
} RkAttentionBackward;

/* Whether the device and the shape are for it; asks the device for shared memory. */
bool rk_attention_own_fits(const RkGpu *gpu, const RkSample *sample, RkError *why);
bool rk_attention_backward_own_fits(const RkGpu *gpu, const RkSample *sample, RkError *why);

void rk_attention_own(const RkSample *sample, const RkAttention *a, cudaStream_t stream);
void rk_attention_backward_own(const RkSample *sample, const RkAttentionBackward *a,
                               cudaStream_t stream);
