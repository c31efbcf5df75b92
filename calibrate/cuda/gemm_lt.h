#pragma once
/* One GEMM through cuBLASLt: out (m x n) = a (m x k) times the transpose of b (n x k), all row by
 * row, as a linear layer stores them. The library's first choice of algorithm is taken, as
 * frameworks do. */
#include "calibrate/cuda/gpu.h"

typedef struct RkGemm RkGemm;

/* False when the library is absent or refuses the shape. The workspace comes from the arena. */
bool rk_gemm_make(RkGpu *gpu, const RkSample *sample, RkGemm **out, RkError *why);
void rk_gemm_free(RkGemm *gemm);
bool rk_gemm_enqueue(const RkGemm *gemm, const void *a, const void *b, void *out,
                     cudaStream_t stream);

/* Returns the output format of products of a dtype. */
RkDtype rk_gemm_out_dtype(RkDtype dtype);
