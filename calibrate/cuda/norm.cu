/* RMSNorm forward (arXiv 1910.07467): one block per row, whose second read hits the cache. */
#include <math.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

#define EPSILON 1e-5

template <typename T>
static __global__ void rms_norm(const T *in, const T *weight, T *out, int64_t columns)
{
    const T *row = in + blockIdx.x * columns;
    int64_t packs = columns / RkPack<T>::LENGTH;
    float square = 0;
    for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
        RkPack<T> x = rk_load(row, p);
        for (int i = 0; i < RkPack<T>::LENGTH; i++)
            square += rk_float(x.value[i]) * rk_float(x.value[i]);
    }
    float scale = rsqrtf(rk_block_sum(square) / (float)columns + (float)EPSILON);
    for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
        RkPack<T> x = rk_load(row, p), w = rk_load(weight, p);
        for (int i = 0; i < RkPack<T>::LENGTH; i++)
            x.value[i] = rk_store<T>(rk_float(x.value[i]) * scale * rk_float(w.value[i]));
        rk_put(out + blockIdx.x * columns, p, x);
    }
}

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->n, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, true});
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype, (rms_norm<<<(unsigned)s->m, RK_ROW_THREADS, 0, stream>>>(
                              (const T *)b[0], (const T *)b[1], (T *)b[2], s->n)));
}

static void reference(const RkSample *s, double *const *b)
{
    for (int64_t row = 0; row < s->m; row++) {
        const double *x = b[0] + row * s->n;
        double square = 0;
        for (int64_t i = 0; i < s->n; i++)
            square += x[i] * x[i];
        double scale = 1 / sqrt(square / (double)s->n + EPSILON);
        for (int64_t i = 0; i < s->n; i++)
            b[2][row * s->n + i] = x[i] * scale * b[1][i];
    }
}

static const RkSample CHECKS[] = {RK_ROWS(RK_NORM, RH_DTYPE_BF16, 33, 768),
                                  RK_ROWS(RK_NORM, RH_DTYPE_FP32, 7, 4096),
                                  RK_ROWS(RK_NORM, RH_DTYPE_FP16, 5, 8200), RkSample{}};

extern const RkKernel RK_KERNEL_NORM = {"own", operands, rk_rows_fit, launch,
                                        NULL,  NULL,     reference,   CHECKS};
