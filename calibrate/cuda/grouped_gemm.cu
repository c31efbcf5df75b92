/* Grouped GEMM, one product for each expert, through cublasGemmGroupedBatchedEx (cuBLAS 12.5). */
#include <cublas_v2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/cuda/host_device_math.h"
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/vendor_libraries.h"

#define EXPERTS_MAX 1024

static void operands(const RkSample *s, RkCase *c)
{
    rk_case_operand(c, {s->dtype, s->m * s->k, RK_FILL_NORMAL, 1, 0, false});
    rk_case_operand(c, {s->dtype, s->batch * s->n * s->k, RK_FILL_NORMAL, 0.05f, 0, false});
    rk_case_operand(c, {s->dtype, s->m * s->n, RK_FILL_ZERO, 0, 0, true});
}

static void reference(const RkSample *s, double *const *b)
{
    int64_t row = 0;
    for (int64_t expert = 0; expert < s->batch; expert++) {
        const double *w = b[1] + expert * s->n * s->k;
        int64_t end = row + rk_expert_tokens(s->m, s->batch, expert);
        for (; row < end; row++) {
            for (int64_t column = 0; column < s->n; column++) {
                double sum = 0;
                for (int64_t i = 0; i < s->k; i++)
                    sum += b[0][row * s->k + i] * w[column * s->k + i];
                b[2][row * s->n + column] = sum;
            }
        }
    }
}

static const RkSample CHECKS[] = {
    {RK_GROUPED_GEMM, RH_DTYPE_BF16, false, 0, 0, 3, 80, 64, 72, 0, 0, 0}, {}};

#if CUBLAS_VERSION >= 120500

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

typedef struct {
    decltype(&cublasCreate_v2) create;
    decltype(&cublasSetStream_v2) set_stream;
    decltype(&cublasGemmGroupedBatchedEx) gemm;
    cublasHandle_t handle;
    bool ready;
} Cublas;

/* A group of products with equal shapes: experts with one token more are one, the others
 * another. */
typedef struct {
    int groups, members[2], rows[2];
    void **pointers; /* on the device: for every rotation, experts x (weights, tokens, results) */
} Plan;

static bool load(Cublas *cublas)
{
    static const char *const NAMES[] = {"libcublas.so." TEXT(CUBLAS_VER_MAJOR), NULL};
    void *l = rk_library_open(NAMES);
    return RK_SYMBOL(l, cublas, create, "cublasCreate_v2") &&
           RK_SYMBOL(l, cublas, set_stream, "cublasSetStream_v2") &&
           RK_SYMBOL(l, cublas, gemm, "cublasGemmGroupedBatchedEx") &&
           cublas->create(&cublas->handle) == CUBLAS_STATUS_SUCCESS;
}

static Cublas *library(void)
{
    static Cublas cublas;
    static bool tried;
    if (!tried)
        cublas.ready = load(&cublas);
    tried = true;
    return cublas.ready ? &cublas : NULL;
}

static void plan_groups(const RkSample *s, Plan *plan)
{
    int more = (int)(s->m % s->batch), rows = (int)(s->m / s->batch);
    int members[2] = {more, (int)s->batch - more}, tall[2] = {rows + 1, rows};
    for (int i = 0; i < 2; i++) {
        if (members[i] == 0 || tall[i] == 0)
            continue;
        plan->members[plan->groups] = members[i];
        plan->rows[plan->groups++] = tall[i];
    }
}

/* Lists the addresses of one rotation's experts: weights, then tokens, then results. */
static void addresses(const RkCase *c, int rotation, char **out)
{
    const RkSample *s = &c->sample;
    int64_t e = rh_dtype_bytes(s->dtype), row = 0;
    for (int64_t i = 0; i < s->batch; i++) {
        out[i] = c->data[1] + (size_t)rotation * c->stride[1] + i * s->n * s->k * e;
        out[s->batch + i] = c->data[0] + (size_t)rotation * c->stride[0] + row * s->k * e;
        out[2 * s->batch + i] = c->data[2] + (size_t)rotation * c->stride[2] + row * s->n * e;
        row += rk_expert_tokens(s->m, s->batch, i);
    }
}

static bool send_addresses(RkGpu *gpu, RkCase *c, Plan *plan, RkError *why)
{
    size_t one = 3 * (size_t)c->sample.batch * sizeof(char *);
    plan->pointers = (void **)rk_gpu_take(gpu, one * (size_t)c->rotations);
    char **all = (char **)malloc(one * (size_t)c->rotations);
    bool ok = plan->pointers != NULL && all != NULL;
    for (int r = 0; ok && r < c->rotations; r++)
        addresses(c, r, all + (size_t)r * 3 * (size_t)c->sample.batch);
    ok = ok && rk_cuda(cudaMemcpy(plan->pointers, all, one * (size_t)c->rotations,
                                  cudaMemcpyHostToDevice),
                       "sending addresses", why);
    free(all);
    return ok;
}

static bool run(const RkCase *c, cudaStream_t stream, void *const *b);

static bool prepare(RkGpu *gpu, RkCase *c, RkError *why)
{
    const RkSample *s = &c->sample;
    void *first[3] = {c->data[0], c->data[1], c->data[2]};
    char version[32];
    if (library() == NULL)
        return rk_fail(why, "libcublas.so." TEXT(CUBLAS_VER_MAJOR) " is not on this machine");
    if (gpu->sm < 80 || s->dtype == RH_DTYPE_FP8 || s->batch > EXPERTS_MAX || s->m > INT32_MAX)
        return rk_fail(why, "the library groups fp16, bf16 and fp32 on sm_80 and newer");
    Plan *plan = (Plan *)calloc(1, sizeof *plan);
    if (plan == NULL || !send_addresses(gpu, c, plan, why)) {
        free(plan);
        return rk_fail(why, "no memory for the addresses");
    }
    plan_groups(s, plan);
    rk_cublas_version(version, sizeof version);
    snprintf(c->library, sizeof c->library, "cublas %s", version);
    c->plan = plan;
    if (run(c, gpu->stream, first))
        return true;
    free(plan);
    return rk_fail(why, "cuBLAS does not group it");
}

static bool run(const RkCase *c, cudaStream_t stream, void *const *b)
{
    const Plan *plan = (const Plan *)c->plan;
    const RkSample *s = &c->sample;
    const Cublas *cublas = library();
    cudaDataType_t type = s->dtype == RH_DTYPE_BF16   ? CUDA_R_16BF
                          : s->dtype == RH_DTYPE_FP16 ? CUDA_R_16F
                                                      : CUDA_R_32F;
    size_t rotation = (size_t)((char *)b[0] - c->data[0]) / c->stride[0];
    void **pointers = plan->pointers + rotation * 3 * (size_t)s->batch;
    cublasOperation_t transposed[2] = {CUBLAS_OP_T, CUBLAS_OP_T};
    cublasOperation_t plain[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
    int n[2] = {(int)s->n, (int)s->n}, k[2] = {(int)s->k, (int)s->k};
    float one[2] = {1, 1}, zero[2] = {0, 0};
    cublas->set_stream(cublas->handle, stream);
    return CUBLAS_STATUS_SUCCESS ==
           cublas->gemm(
               cublas->handle, transposed, plain, n, plan->rows, k, one,
               (const void *const *)pointers, type, k, (const void *const *)(pointers + s->batch),
               type, k, zero, pointers + 2 * s->batch, type, n, plan->groups, plan->members,
               s->dtype == RH_DTYPE_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *b)
{
    if (!run(c, stream, b))
        rk_case_refuse();
}

static void release(RkCase *c)
{
    free(c->plan);
}

#else

static bool prepare(RkGpu *, RkCase *, RkError *why)
{
    return rk_fail(why, "built with cuBLAS before 12.5, which groups no GEMMs");
}

static void launch(const RkGpu *, const RkCase *, cudaStream_t, void *const *)
{
}

static void release(RkCase *)
{
}

#endif

extern const RkKernel RK_KERNEL_GROUPED_GEMM = {"cublas", operands, prepare,   launch,
                                                NULL,     release,  reference, CHECKS};
