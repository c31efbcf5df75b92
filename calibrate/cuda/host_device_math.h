#pragma once
/* The arithmetic of our own kernels, one element at a time, as device code and as C: what a test
 * compares with double precision on a machine without a GPU is what the GPU runs. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RK_BOTH static inline __host__ __device__
#else
#define RK_BOTH static inline
#endif

/* SwiGLU (Shazeer, arXiv 2002.05202): silu(gate) x up. */
RK_BOTH float rk_swiglu(float gate, float up)
{
    return gate / (1.0f + expf(-gate)) * up;
}

/* Rotary embedding (arXiv 2104.09864) of the pair (x, y), columns i and i + head size / 2. */
RK_BOTH void rk_rotate(float *x, float *y, float cosine, float sine)
{
    float a = *x, b = *y;
    *x = a * cosine - b * sine;
    *y = b * cosine + a * sine;
}

/* Softmax in one pass (Milakov and Gimelshein, arXiv 1805.02867): the maximum so far, and the sum
 * of exponentials relative to it. */
typedef struct {
    float max, sum;
} RkOnline;

RK_BOTH RkOnline rk_online_empty(void)
{
    RkOnline empty;
    empty.max = -INFINITY;
    empty.sum = 0;
    return empty;
}

RK_BOTH RkOnline rk_online_merge(RkOnline a, RkOnline b)
{
    RkOnline both;
    both.max = fmaxf(a.max, b.max);
    if (both.max == -INFINITY) /* nothing seen on either side: no difference to take */
        return rk_online_empty();
    both.sum = a.sum * expf(a.max - both.max) + b.sum * expf(b.max - both.max);
    return both;
}

RK_BOTH RkOnline rk_online_add(RkOnline seen, float x)
{
    RkOnline one;
    one.max = x;
    one.sum = x == -INFINITY ? 0.0f : 1.0f;
    return rk_online_merge(seen, one);
}

RK_BOTH float rk_online_softmax(RkOnline row, float x)
{
    return expf(x - row.max) / row.sum;
}

/* Loss of one token, and the gradient of one logit. */
RK_BOTH float rk_cross_entropy_loss(RkOnline row, float target_logit)
{
    return logf(row.sum) + row.max - target_logit;
}

RK_BOTH float rk_cross_entropy_gradient(RkOnline row, float logit, bool target)
{
    return rk_online_softmax(row, logit) - (target ? 1.0f : 0.0f);
}

/* AdamW (arXiv 1711.05101) with usual constants at its first step after warm-up. */
#define RK_ADAM_BETA1   0.9f
#define RK_ADAM_BETA2   0.95f
#define RK_ADAM_RATE    1e-4f
#define RK_ADAM_DECAY   0.1f
#define RK_ADAM_EPSILON 1e-8f

RK_BOTH void rk_adam(float *weight, float *mean, float *square, float gradient)
{
    *mean = RK_ADAM_BETA1 * *mean + (1.0f - RK_ADAM_BETA1) * gradient;
    *square = RK_ADAM_BETA2 * *square + (1.0f - RK_ADAM_BETA2) * gradient * gradient;
    *weight -=
        RK_ADAM_RATE * (*mean / (sqrtf(*square) + RK_ADAM_EPSILON) + RK_ADAM_DECAY * *weight);
}

/* Does query `i` see key `j`? */
RK_BOTH bool rk_visible(int64_t i, int64_t j, int64_t keys, bool causal)
{
    return j < keys && (!causal || j <= i);
}

/* Where element `at` of [batch, m, heads, k] goes in [batch, heads, m, k]. */
RK_BOTH int64_t rk_permuted(int64_t at, int64_t m, int64_t heads, int64_t k)
{
    int64_t column = at % k, head = at / k % heads, row = at / k / heads % m;
    int64_t batch = at / k / heads / m;
    return ((batch * heads + head) * m + row) * k + column;
}

/* Tokens of expert `i` when `tokens` are dealt over `experts` as evenly as can be. */
RK_BOTH int64_t rk_expert_tokens(int64_t tokens, int64_t experts, int64_t i)
{
    return tokens / experts + (i < tokens % experts ? 1 : 0);
}

/* A reproducible value in [0, 1) for position `at` of stream `seed` (splitmix64, Steele et al.,
 * OOPSLA 2014). */
RK_BOTH float rk_uniform(uint64_t seed, uint64_t at)
{
    uint64_t z = seed * UINT64_C(0xd1342543de82ef95) + (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (float)(z >> 40) * 0x1p-24f;
}

/* Nearly normal with mean 0 and deviation 1: four uniform values added. */
RK_BOTH float rk_normal(uint64_t seed, uint64_t at)
{
    float sum = 0;
    for (uint64_t i = 0; i < 4; i++)
        sum += rk_uniform(seed, 4 * at + i);
    return (sum - 2.0f) * 1.7320508f;
}
