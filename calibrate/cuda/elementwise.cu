/* Elementwise kernels: SwiGLU, residual add, gradient accumulation into fp32. */
#include <math.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

#define THREADS 256

struct SwiGlu {
    static __device__ float of(float a, float b)
    {
        return rk_swiglu(a, b);
    }
};

struct Sum {
    static __device__ float of(float a, float b)
    {
        return a + b;
    }
};

template <typename Op, typename T>
static __global__ void combine(const T *a, const T *b, T *out, int64_t packs)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= packs)
        return;
    RkPack<T> x = rk_load(a, p), y = rk_load(b, p);
    for (int i = 0; i < RkPack<T>::LENGTH; i++)
        x.value[i] = rk_store<T>(Op::of(rk_float(x.value[i]), rk_float(y.value[i])));
    rk_put(out, p, x);
}

/* Kernel that accumulates gradients. A pack of gradients is two packs of the fp32 sum (one when the
 * gradient is fp32 too). */
template <typename T>
static __global__ void accumulate(float *sum, const T *gradient, int64_t packs)
{
    constexpr int PARTS = RkPack<T>::LENGTH / RkPack<float>::LENGTH;
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= packs)
        return;
    RkPack<T> g = rk_load(gradient, p);
    for (int part = 0; part < PARTS; part++) {
        RkPack<float> s = rk_load(sum, p * PARTS + part);
        for (int i = 0; i < RkPack<float>::LENGTH; i++)
            s.value[i] += rk_float(g.value[part * RkPack<float>::LENGTH + i]);
        rk_put(sum, p * PARTS + part, s);
    }
}

static unsigned blocks(int64_t packs)
{
    return (unsigned)((packs + THREADS - 1) / THREADS);
}

static void combined(const RkSample *s, RkCase *c)
{
    for (int i = 0; i < 3; i++)
        rk_case_operand(
            c, {s->dtype, s->m * s->n, i < 2 ? RK_FILL_NORMAL : RK_FILL_ZERO, 1, 0, i == 2});
}

template <typename Op>
static void launch_combine(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    int64_t count = c->sample.m * c->sample.n;
    RK_BY_DTYPE(c->sample.dtype, {
        int64_t packs = count / RkPack<T>::LENGTH;
        combine<Op><<<blocks(packs), THREADS, 0, stream>>>((const T *)b[0], (const T *)b[1],
                                                           (T *)b[2], packs);
    });
}

static void reference_activation(const RkSample *s, double *const *b)
{
    for (int64_t i = 0; i < s->m * s->n; i++)
        b[2][i] = b[0][i] / (1 + exp(-b[0][i])) * b[1][i];
}

static void reference_add(const RkSample *s, double *const *b)
{
    for (int64_t i = 0; i < s->m * s->n; i++)
        b[2][i] = b[0][i] + b[1][i];
}

static void accumulated(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {RH_DTYPE_FP32, s->m * s->n, RK_FILL_NORMAL, 1, 0, true});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_NORMAL, 1, 0, false});
}

static void launch_reduce(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    int64_t count = c->sample.m * c->sample.n;
    RK_BY_DTYPE(c->sample.dtype, {
        int64_t packs = count / RkPack<T>::LENGTH;
        accumulate<<<blocks(packs), THREADS, 0, stream>>>((float *)b[0], (const T *)b[1], packs);
    });
}

static void reference_reduce(const RkSample *s, double *const *b)
{
    for (int64_t i = 0; i < s->m * s->n; i++)
        b[0][i] += b[1][i];
}

static const RkSample ACTIVATIONS[] = {RK_ROWS(RK_ACTIVATION, RH_DTYPE_BF16, 13, 776),
                                       RK_ROWS(RK_ACTIVATION, RH_DTYPE_FP32, 3, 1024), RkSample{}};
static const RkSample ADDS[] = {RK_ROWS(RK_ADD, RH_DTYPE_BF16, 13, 776),
                                RK_ROWS(RK_ADD, RH_DTYPE_FP16, 3, 1024), RkSample{}};
static const RkSample REDUCES[] = {RK_ROWS(RK_REDUCE, RH_DTYPE_BF16, 13, 776),
                                   RK_ROWS(RK_REDUCE, RH_DTYPE_FP32, 3, 1024), RkSample{}};

extern const RkKernel RK_KERNEL_ACTIVATION = {
    "own", combined, rk_rows_fit,          launch_combine<SwiGlu>,
    NULL,  NULL,     reference_activation, ACTIVATIONS};
extern const RkKernel RK_KERNEL_ADD = {"own", combined, rk_rows_fit,   launch_combine<Sum>,
                                       NULL,  NULL,     reference_add, ADDS};
extern const RkKernel RK_KERNEL_REDUCE = {"own", accumulated, rk_rows_fit,      launch_reduce,
                                          NULL,  NULL,        reference_reduce, REDUCES};
