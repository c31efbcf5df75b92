/* Softmax of rows, and cross-entropy with the gradient of its logits: one pass for maximum and
 * sum, one for the result. */
#include <math.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/row_block.h"
#include "calibrate/cuda/vector_load.h"

template <typename T> static __device__ RkOnline row_statistics(const T *row, int64_t packs)
{
    RkOnline seen = rk_online_empty();
    for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
        RkPack<T> x = rk_load(row, p);
        for (int i = 0; i < RkPack<T>::LENGTH; i++)
            seen = rk_online_add(seen, rk_float(x.value[i]));
    }
    return rk_block_online(seen);
}

template <typename T> static __global__ void softmax(const T *in, T *out, int64_t columns)
{
    const T *row = in + blockIdx.x * columns;
    int64_t packs = columns / RkPack<T>::LENGTH;
    RkOnline seen = row_statistics(row, packs);
    for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
        RkPack<T> x = rk_load(row, p);
        for (int i = 0; i < RkPack<T>::LENGTH; i++)
            x.value[i] = rk_store<T>(rk_online_softmax(seen, rk_float(x.value[i])));
        rk_put(out + blockIdx.x * columns, p, x);
    }
}

template <typename T>
static __global__ void cross_entropy(const T *logits, const int32_t *targets, T *gradient,
                                     float *loss, int64_t columns)
{
    const T *row = logits + blockIdx.x * columns;
    int64_t packs = columns / RkPack<T>::LENGTH, target = targets[blockIdx.x];
    RkOnline seen = row_statistics(row, packs);
    for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
        RkPack<T> x = rk_load(row, p);
        for (int i = 0; i < RkPack<T>::LENGTH; i++) {
            bool hit = p * RkPack<T>::LENGTH + i == target;
            x.value[i] = rk_store<T>(rk_cross_entropy_gradient(seen, rk_float(x.value[i]), hit));
        }
        rk_put(gradient + blockIdx.x * columns, p, x);
    }
    if (threadIdx.x == 0)
        loss[blockIdx.x] = rk_cross_entropy_loss(seen, rk_float(row[target]));
}

static void softmax_operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_NORMAL, 2, 0, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, true});
}

static void launch_softmax(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype, (softmax<<<(unsigned)s->m, RK_ROW_THREADS, 0, stream>>>(
                              (const T *)b[0], (T *)b[1], s->n)));
}

static void cross_entropy_operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_NORMAL, 2, 0, false});
    rk_case_operand(c, {RH_DTYPE_FP32, s->m, RK_FILL_INDEX, 0, s->n, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, true});
    rk_case_operand(c, {RH_DTYPE_FP32, s->m, RK_FILL_ZERO, 0, 0, true});
}

static void launch_cross_entropy(const RkGpu *, const RkCase *c, cudaStream_t stream,
                                 void *const *b)
{
    const RkSample *s = &c->sample;
    RK_BY_DTYPE(s->dtype,
                (cross_entropy<<<(unsigned)s->m, RK_ROW_THREADS, 0, stream>>>(
                    (const T *)b[0], (const int32_t *)b[1], (T *)b[2], (float *)b[3], s->n)));
}

static double log_sum(const double *row, int64_t columns)
{
    double max = row[0], sum = 0;
    for (int64_t i = 1; i < columns; i++)
        max = fmax(max, row[i]);
    for (int64_t i = 0; i < columns; i++)
        sum += exp(row[i] - max);
    return max + log(sum);
}

static void reference_softmax(const RkSample *s, double *const *b)
{
    for (int64_t row = 0; row < s->m; row++) {
        double total = log_sum(b[0] + row * s->n, s->n);
        for (int64_t i = row * s->n; i < (row + 1) * s->n; i++)
            b[1][i] = exp(b[0][i] - total);
    }
}

static void reference_cross_entropy(const RkSample *s, double *const *b)
{
    for (int64_t row = 0; row < s->m; row++) {
        double total = log_sum(b[0] + row * s->n, s->n);
        int64_t target = row * s->n + (int64_t)b[1][row];
        for (int64_t i = row * s->n; i < (row + 1) * s->n; i++)
            b[2][i] = exp(b[0][i] - total) - (i == target ? 1 : 0);
        b[3][row] = total - b[0][target];
    }
}

static const RkSample SOFTMAXES[] = {RK_ROWS(RK_SOFTMAX, RH_DTYPE_BF16, 9, 2048),
                                     RK_ROWS(RK_SOFTMAX, RH_DTYPE_FP32, 5, 200), RkSample{}};
static const RkSample CROSS_ENTROPIES[] = {RK_ROWS(RK_CROSS_ENTROPY, RH_DTYPE_BF16, 9, 16136),
                                           RK_ROWS(RK_CROSS_ENTROPY, RH_DTYPE_FP32, 5, 1000),
                                           RkSample{}};

extern const RkKernel RK_KERNEL_SOFTMAX = {
    "own", softmax_operands, rk_rows_fit, launch_softmax, NULL, NULL, reference_softmax, SOFTMAXES};
extern const RkKernel RK_KERNEL_CROSS_ENTROPY = {
    "own", cross_entropy_operands,  rk_rows_fit,    launch_cross_entropy, NULL,
    NULL,  reference_cross_entropy, CROSS_ENTROPIES};
