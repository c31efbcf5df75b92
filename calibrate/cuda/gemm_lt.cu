#include "calibrate/cuda/gemm_lt.h"

#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/cuda/vendor_libraries.h"

#define WORKSPACE_BYTES ((size_t)64 << 20)
#define TEXT_(x)        #x
#define TEXT(x)         TEXT_(x)

typedef struct {
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtGetVersion) version;
    decltype(&cublasLtMatmul) matmul;
    decltype(&cublasLtMatmulDescCreate) desc_create;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set;
    decltype(&cublasLtMatrixLayoutCreate) layout_create;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
    decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
    decltype(&cublasLtMatmulAlgoGetHeuristic) choose;
    cublasLtHandle_t handle;
    bool ready;
} Lt;

struct RkGemm {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, out;
    cublasLtMatmulAlgo_t algorithm;
    void *workspace;
    float beta; /* 1 adds the product to what `out` holds */
};

static bool load(Lt *lt)
{
    static const char *const NAMES[] = {"libcublasLt.so." TEXT(CUBLAS_VER_MAJOR), NULL};
    void *l = rk_library_open(NAMES);
    return RK_SYMBOL(l, lt, create, "cublasLtCreate") &&
           RK_SYMBOL(l, lt, version, "cublasLtGetVersion") &&
           RK_SYMBOL(l, lt, matmul, "cublasLtMatmul") &&
           RK_SYMBOL(l, lt, desc_create, "cublasLtMatmulDescCreate") &&
           RK_SYMBOL(l, lt, desc_destroy, "cublasLtMatmulDescDestroy") &&
           RK_SYMBOL(l, lt, desc_set, "cublasLtMatmulDescSetAttribute") &&
           RK_SYMBOL(l, lt, layout_create, "cublasLtMatrixLayoutCreate") &&
           RK_SYMBOL(l, lt, layout_destroy, "cublasLtMatrixLayoutDestroy") &&
           RK_SYMBOL(l, lt, layout_set, "cublasLtMatrixLayoutSetAttribute") &&
           RK_SYMBOL(l, lt, preference_create, "cublasLtMatmulPreferenceCreate") &&
           RK_SYMBOL(l, lt, preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
           RK_SYMBOL(l, lt, preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
           RK_SYMBOL(l, lt, choose, "cublasLtMatmulAlgoGetHeuristic");
}

/* Loads the library, once per process; NULL when it is absent. */
static Lt *library(void)
{
    static Lt lt;
    static bool tried;
    if (!tried)
        lt.ready = load(&lt);
    tried = true;
    return lt.ready ? &lt : NULL;
}

void rk_cublas_version(char *out, size_t size)
{
    Lt *lt = library();
    if (lt != NULL)
        rk_version_text(lt->version(), 10000, out, size);
    else
        snprintf(out, size, "absent");
}

RhDtype rk_gemm_out_dtype(const RkSample *s)
{
    return s->cls == RK_GEMM_NT       ? RH_DTYPE_FP32
           : s->dtype == RH_DTYPE_FP8 ? RH_DTYPE_BF16
                                      : s->dtype;
}

static cudaDataType_t type_of(RhDtype dtype)
{
    switch (dtype) {
    case RH_DTYPE_FP16:
        return CUDA_R_16F;
    case RH_DTYPE_BF16:
        return CUDA_R_16BF;
    case RH_DTYPE_FP8:
        return CUDA_R_8F_E4M3;
    case RH_DTYPE_FP32:
    case RH_DTYPE_TF32:
    case RH_DTYPE_NONE:
    case RH_DTYPE_FP4:
    case RH_DTYPE_LAST:
    default:
        return CUDA_R_32F;
    }
}

/* Makes a layout: rows of `columns` elements are, to the library, columns of that length. */
static bool make_layout(const Lt *lt, cublasLtMatrixLayout_t *out, RhDtype dtype, int64_t columns,
                        int64_t rows, int64_t batch)
{
    int32_t count = (int32_t)batch;
    int64_t stride = columns * rows;
    return lt->layout_create(out, type_of(dtype), (uint64_t)columns, (uint64_t)rows, columns) ==
               CUBLAS_STATUS_SUCCESS &&
           lt->layout_set(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count) ==
               CUBLAS_STATUS_SUCCESS &&
           lt->layout_set(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                          sizeof stride) == CUBLAS_STATUS_SUCCESS;
}

/* Rows are the library's columns, so that it sees out^T = b' a': it transposes b as a linear layer
 * stores it, and a where that is stored by columns. */
static bool make_operation(const Lt *lt, RkGemm *gemm, const RkSample *s)
{
    RhDtype dtype = s->dtype;
    cublasComputeType_t compute =
        dtype == RH_DTYPE_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t of_b =
        s->cls == RK_GEMM_NN || s->cls == RK_GEMM_NT ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasOperation_t of_a = s->cls == RK_GEMM_NT ? CUBLAS_OP_T : CUBLAS_OP_N;
    int8_t fast = 1; /* for fp8: accumulation as in training recipes */
    return lt->desc_create(&gemm->operation, compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
           lt->desc_set(gemm->operation, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b) ==
               CUBLAS_STATUS_SUCCESS &&
           lt->desc_set(gemm->operation, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a) ==
               CUBLAS_STATUS_SUCCESS &&
           (dtype != RH_DTYPE_FP8 || lt->desc_set(gemm->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                                  &fast, sizeof fast) == CUBLAS_STATUS_SUCCESS);
}

static bool choose_algorithm(const Lt *lt, RkGemm *gemm)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t first;
    int found = 0;
    size_t workspace = WORKSPACE_BYTES;
    bool ok = lt->preference_create(&preference) == CUBLAS_STATUS_SUCCESS &&
              lt->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                 sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
              lt->choose(lt->handle, gemm->operation, gemm->b, gemm->a, gemm->out, gemm->out,
                         preference, 1, &first, &found) == CUBLAS_STATUS_SUCCESS &&
              found == 1;
    if (ok)
        gemm->algorithm = first.algo;
    if (preference != NULL)
        lt->preference_destroy(preference);
    return ok;
}

/* Makes the layouts of a, b and the result, in elements of a row and rows. */
static bool make_layouts(const Lt *lt, RkGemm *gemm, const RkSample *s)
{
    bool by_columns = s->cls == RK_GEMM_NT, plain = by_columns || s->cls == RK_GEMM_NN;
    return make_layout(lt, &gemm->a, s->dtype, by_columns ? s->m : s->k, by_columns ? s->k : s->m,
                       s->batch) &&
           make_layout(lt, &gemm->b, s->dtype, plain ? s->n : s->k, plain ? s->k : s->n,
                       s->batch) &&
           make_layout(lt, &gemm->out, rk_gemm_out_dtype(s), s->n, s->m, s->batch);
}

static bool dtype_fits(const RkGpu *gpu, RhDtype dtype, RkError *why)
{
    if (dtype == RH_DTYPE_FP8 && gpu->sm < 89)
        return rk_fail(why, "fp8 needs sm_89, this is sm_%d", gpu->sm);
    if ((dtype == RH_DTYPE_BF16 || dtype == RH_DTYPE_TF32) && gpu->sm < 80)
        return rk_fail(why, "%s needs sm_80, this is sm_%d", rh_dtype_name(dtype), gpu->sm);
    return true;
}

bool rk_gemm_make(RkGpu *gpu, const RkSample *s, RkGemm **out, RkError *why)
{
    Lt *lt = library();
    if (lt == NULL)
        return rk_fail(why, "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR) " is not on this machine");
    if (!dtype_fits(gpu, s->dtype, why))
        return false;
    if (s->dtype == RH_DTYPE_FP8 && (s->cls == RK_GEMM_NN || s->cls == RK_GEMM_NT))
        return rk_fail(why, "cuBLASLt multiplies fp8 in the layout of a linear layer alone");
    if (lt->handle == NULL && lt->create(&lt->handle) != CUBLAS_STATUS_SUCCESS)
        return rk_fail(why, "cuBLASLt does not start");
    RkGemm *gemm = (RkGemm *)calloc(1, sizeof *gemm);
    if (gemm == NULL)
        return rk_fail(why, "no memory");
    gemm->workspace = rk_gpu_take(gpu, WORKSPACE_BYTES);
    gemm->beta = s->cls == RK_GEMM_NT ? 1 : 0;
    bool ok = gemm->workspace != NULL && make_layouts(lt, gemm, s) && make_operation(lt, gemm, s) &&
              choose_algorithm(lt, gemm);
    if (!ok) {
        rk_gemm_free(gemm);
        return rk_fail(why, "cuBLASLt has no algorithm for it");
    }
    *out = gemm;
    return true;
}

void rk_gemm_free(RkGemm *gemm)
{
    const Lt *lt = library();
    if (gemm == NULL)
        return;
    if (gemm->a != NULL)
        lt->layout_destroy(gemm->a);
    if (gemm->b != NULL)
        lt->layout_destroy(gemm->b);
    if (gemm->out != NULL)
        lt->layout_destroy(gemm->out);
    if (gemm->operation != NULL)
        lt->desc_destroy(gemm->operation);
    free(gemm);
}

bool rk_gemm_enqueue(const RkGemm *gemm, const void *a, const void *b, void *out,
                     cudaStream_t stream)
{
    const Lt *lt = library();
    float one = 1;
    return lt->matmul(lt->handle, gemm->operation, &one, b, gemm->b, a, gemm->a, &gemm->beta, out,
                      gemm->out, out, gemm->out, &gemm->algorithm, gemm->workspace, WORKSPACE_BYTES,
                      stream) == CUBLAS_STATUS_SUCCESS;
}
