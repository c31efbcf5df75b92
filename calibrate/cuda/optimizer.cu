/* AdamW in mixed precision: fp32 weight, moments and gradient; a bf16 weight for the next step. */
#include <math.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

#define THREADS 256

static __global__ void adam(float *weight, float *mean, float *square, const float *gradient,
                            __nv_bfloat16 *copy, int64_t packs)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= packs)
        return;
    RkPack<float> w = rk_load(weight, p), m = rk_load(mean, p), v = rk_load(square, p);
    RkPack<float> g = rk_load(gradient, p);
    __nv_bfloat162 low, high;
    for (int i = 0; i < RkPack<float>::LENGTH; i++)
        rk_adam(&w.value[i], &m.value[i], &v.value[i], g.value[i]);
    low = __floats2bfloat162_rn(w.value[0], w.value[1]);
    high = __floats2bfloat162_rn(w.value[2], w.value[3]);
    rk_put(weight, p, w);
    rk_put(mean, p, m);
    rk_put(square, p, v);
    reinterpret_cast<__nv_bfloat162 *>(copy)[2 * p] = low;
    reinterpret_cast<__nv_bfloat162 *>(copy)[2 * p + 1] = high;
}

static void operands(const RkSample *s, RkCase *c)
{
    int64_t count = s->m * s->n;
    rk_case_operand(c, {RH_DTYPE_FP32, count, RK_FILL_NORMAL, 1, 0, true});
    rk_case_operand(c, {RH_DTYPE_FP32, count, RK_FILL_NORMAL, 1, 0, true});
    rk_case_operand(c,
                    {RH_DTYPE_FP32, count, RK_FILL_UNIFORM, 1, 0, true}); /* squares are positive */
    rk_case_operand(c, {RH_DTYPE_FP32, count, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {RH_DTYPE_BF16, count, RK_FILL_ZERO, 0, 0, true});
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    int64_t packs = c->sample.m * c->sample.n / RkPack<float>::LENGTH;
    adam<<<(unsigned)((packs + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        (float *)b[0], (float *)b[1], (float *)b[2], (const float *)b[3], (__nv_bfloat16 *)b[4],
        packs);
}

static void reference(const RkSample *s, double *const *b)
{
    for (int64_t i = 0; i < s->m * s->n; i++) {
        double g = b[3][i];
        b[1][i] = 0.9 * b[1][i] + 0.1 * g;
        b[2][i] = 0.95 * b[2][i] + 0.05 * g * g;
        b[0][i] -= 1e-4 * (b[1][i] / (sqrt(b[2][i]) + 1e-8) + 0.1 * b[0][i]);
        b[4][i] = b[0][i];
    }
}

static const RkSample CHECKS[] = {RK_ROWS(RK_OPTIMIZER, RH_DTYPE_FP32, 13, 776), RkSample{}};

extern const RkKernel RK_KERNEL_OPTIMIZER = {"own", operands, rk_rows_fit, launch,
                                             NULL,  NULL,     reference,   CHECKS};
