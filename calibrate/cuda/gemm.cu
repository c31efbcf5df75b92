/* GEMM and batched GEMM. */
#include <stdio.h>

#include "calibrate/cuda/gemm_lt.h"
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/libraries.h"

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->batch * s->m * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->batch * s->n * s->k, RK_FILL_NORMAL, 0.05f, 0, false});
    rk_case_operand(
        c, {rk_gemm_out_dtype(s->dtype), s->batch * s->m * s->n, RK_FILL_ZERO, 0, 0, true});
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
    rk_gemm_enqueue((const RkGemm *)c->plan, b[0], b[1], b[2], stream);
}

static void release(RkCase *c)
{
    rk_gemm_free((RkGemm *)c->plan);
}

static void reference(const RkSample *s, double *const *b)
{
    for (int64_t row = 0; row < s->batch * s->m; row++) {
        const double *w = b[1] + row / s->m * s->n * s->k, *x = b[0] + row * s->k;
        for (int64_t column = 0; column < s->n; column++) {
            double sum = 0;
            for (int64_t i = 0; i < s->k; i++)
                sum += x[i] * w[column * s->k + i];
            b[2][row * s->n + column] = sum;
        }
    }
}

static const RkSample CHECKS[] = {
    {RK_GEMM, RK_BF16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RK_BF16, false, 0, 0, 3, 40, 64, 72, 0, 0, 0},
    {RK_GEMM, RK_FP16, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RK_TF32, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RK_FP32, false, 0, 0, 1, 72, 96, 128, 0, 0, 0},
    {RK_GEMM, RK_FP8, false, 0, 0, 1, 64, 96, 128, 0, 0, 0},
    {},
};

extern const RkKernel RK_KERNEL_GEMM = {"cublasLt", operands, prepare,   launch,
                                        NULL,       release,  reference, CHECKS};
