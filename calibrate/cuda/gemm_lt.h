#pragma once
/* One GEMM through cuBLASLt, all matrices row by row, in the layout of its class (kernel_sample.h):
 *
 *   gemm       out (m x n)  = a (m x k) times the transpose of b (n x k), a linear layer
 *   gemm_nn    out (m x n)  = a (m x k) times b (k x n), the gradient of its input
 *   gemm_nt    out (m x n) += the transpose of a (k x m) times b (k x n) in fp32, that of its weight
 *
 * The library's first choice of algorithm is taken, as frameworks do. */
#include "calibrate/cuda/gpu.h"

typedef struct RkGemm RkGemm;

/* False when the library is absent or refuses the shape. The workspace comes from the arena. */
bool rk_gemm_make(RkGpu *gpu, const RkSample *sample, RkGemm **out, RkError *why);
void rk_gemm_free(RkGemm *gemm);
bool rk_gemm_enqueue(const RkGemm *gemm, const void *a, const void *b, void *out,
                     cudaStream_t stream);

/* Returns the output format of a product. */
RhDtype rk_gemm_out_dtype(const RkSample *sample);
