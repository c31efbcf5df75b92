#pragma once
/* Attention as a graph of cuDNN 9: products, mask and softmax (or their gradients), which the
 * library fuses into one flash kernel. Whoever uses a plan compares its result with another first:
 * a graph is only as right as it was drawn. */
#include "calibrate/cuda/gpu.h"

typedef struct RkCudnn RkCudnn;

/* Operands of a plan, in this order; forward ends with the log-sum. */
enum {
    RK_CUDNN_Q,
    RK_CUDNN_K,
    RK_CUDNN_V,
    RK_CUDNN_OUT,
    RK_CUDNN_LOG_SUM,
    RK_CUDNN_OUT_GRADIENT,
    RK_CUDNN_Q_GRADIENT,
    RK_CUDNN_K_GRADIENT,
    RK_CUDNN_V_GRADIENT,
    RK_CUDNN_Q_SUM,    /* fp32, zeroed by the run */
    RK_CUDNN_PRODUCTS, /* fp32 */
    RK_CUDNN_OPERANDS,
};

/* A plan for forward or backward; false when the library is absent or refuses. The workspace comes
 * from the arena. */
bool rk_cudnn_make(RkGpu *gpu, const RkSample *sample, RkCudnn **out, RkError *why);
void rk_cudnn_free(RkCudnn *plan);
bool rk_cudnn_enqueue(RkCudnn *plan, void *const *buffers, cudaStream_t stream);
