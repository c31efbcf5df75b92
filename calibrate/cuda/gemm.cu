/* GEMM and batched GEMM, in the three layouts of a linear layer's step. */
#include <stdio.h>

#include "calibrate/cuda/gemm_lt.h"
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/timing.h"
#include "calibrate/cuda/vendor_libraries.h"

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->batch * s->m * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->batch * s->n * s->k, RK_FILL_NORMAL, 0.05f, 0, false});
    rk_case_operand(c, {rk_gemm_out_dtype(s), s->batch * s->m * s->n, RK_FILL_ZERO, 0, 0, true});
}

static bool prepare(RkGpu *gpu, RkCase *c, RkError *why)
{
    char version[32];
    RkGemm *gemm = NULL;
    if (!rk_gemm_make(gpu, &c->sample, &gemm, why))
        return false;
    rk_cublas_version(version, sizeof version);
    snprintf(c->library, sizeof c->library, "cublasLt %s", version);
    c->plan = gemm;
    if (rk_gemm_enqueue(gemm, c->data[0], c->data[1], c->data[2], gpu->stream))
        return true;
    rk_gemm_free(gemm);
    return rk_fail(why, "cuBLASLt does not run what it chose");
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    if (!rk_gemm_enqueue((const RkGemm *)c->plan, b[0], b[1], b[2], stream))
        rk_case_refuse();
}

static void release(RkCase *c)
{
    rk_gemm_free((RkGemm *)c->plan);
}

/* Multiplies one pair of matrices; element i of a row of `a` and of a column of `b` stand as the
 * class stores them. Adds to `out` what its layout adds. */
static void multiply(const RkSample *s, const double *a, const double *b, double *out)
{
    bool a_by_columns = s->cls == RK_GEMM_NT, b_by_rows = a_by_columns || s->cls == RK_GEMM_NN;
    for (int64_t row = 0; row < s->m; row++) {
        for (int64_t column = 0; column < s->n; column++) {
            double sum = a_by_columns ? out[row * s->n + column] : 0;
            for (int64_t i = 0; i < s->k; i++)
                sum += (a_by_columns ? a[i * s->m + row] : a[row * s->k + i]) *
                       (b_by_rows ? b[i * s->n + column] : b[column * s->k + i]);
            out[row * s->n + column] = sum;
        }
    }
}

static void reference(const RkSample *s, double *const *b)
{
    for (int64_t i = 0; i < s->batch; i++)
        multiply(s, b[0] + i * s->m * s->k, b[1] + i * s->n * s->k, b[2] + i * s->m * s->n);
}

static const RkSample CHECKS[] = {
    {RK_GEMM, RH_DTYPE_BF16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RH_DTYPE_BF16, false, 0, 0, 3, 40, 64, 72, 0, 0, 0},
    {RK_GEMM, RH_DTYPE_FP16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RH_DTYPE_TF32, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RH_DTYPE_FP32, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RH_DTYPE_FP8, false, 0, 0, 1, 64, 96, 128, 0, 0, 0},
    {RK_GEMM_NN, RH_DTYPE_BF16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM_NT, RH_DTYPE_BF16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {},
};

/* --- A product for seconds on end --- */

#define SUSTAINED_S 2.0 /* of one repetition; the first two are a warm-up of four seconds */
#define AT_ONCE     16  /* enqueued before the host waits for the ones before */

/* Seconds of one product, while clocks and power have time to settle. */
static double time_sustained(const RkGpu *gpu, RkCase *c)
{
    double begin_s = rk_now_s(), now_s = begin_s;
    int64_t count = 0;
    while (now_s - begin_s < SUSTAINED_S) {
        for (int i = 0; i < AT_ONCE; i++)
            rk_case_launch(gpu, c, gpu->stream);
        c->during = rk_meter_read();
        if (rk_case_was_refused() || cudaStreamSynchronize(gpu->stream) != cudaSuccess)
            return -1;
        count += AT_ONCE;
        now_s = rk_now_s();
    }
    return (now_s - begin_s) / (double)count;
}

extern const RkKernel RK_KERNEL_SUSTAINED_GEMM = {"cublasLt",     operands, prepare, launch,
                                                  time_sustained, release,  NULL,    NULL};
extern const RkKernel RK_KERNEL_GEMM = {"cublasLt", operands, prepare,   launch,
                                        NULL,       release,  reference, CHECKS};
