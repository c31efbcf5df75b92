#pragma once
/* Number formats and classes of kernels, in the words of models of devices, raw samples and the
 * programs that measure. Plain C without libraries, under the MIT licence, because the program that
 * measures a GPU is linked with vendor libraries (calibrate/cuda/README.md). */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    RH_DTYPE_NONE,
    RH_DTYPE_FP32,
    RH_DTYPE_TF32,
    RH_DTYPE_FP16,
    RH_DTYPE_BF16,
    RH_DTYPE_FP8,
    RH_DTYPE_FP4,
    RH_DTYPE_LAST,
} RhDtype;

typedef enum {
    RH_KERNEL_NONE,
    RH_KERNEL_GEMM,
    RH_KERNEL_ATTENTION,
    RH_KERNEL_ATTENTION_BACKWARD,
    RH_KERNEL_SCAN,    /* a step of a linear mixer's chunked scan, forward or backward */
    RH_KERNEL_SOFTMAX, /* unfused attention's mask + softmax (+ dropout) */
    RH_KERNEL_NORM,
    RH_KERNEL_ROTARY,
    RH_KERNEL_ACTIVATION, /* GELU, SwiGLU ... */
    RH_KERNEL_ADD,        /* residual, bias, dropout-add */
    RH_KERNEL_EMBEDDING,
    RH_KERNEL_CROSS_ENTROPY, /* softmax-cross-entropy over a (sharded) vocabulary */
    RH_KERNEL_OPTIMIZER,
    RH_KERNEL_DEPTHWISE, /* depthwise convolution; other convolutions are GEMMs */
    RH_KERNEL_POOL,
    RH_KERNEL_CAST,   /* to a narrower format, with its scales */
    RH_KERNEL_REDUCE, /* local reduction of a collective, gradient accumulation */
    RH_KERNEL_LAST,
} RhKernelClass;

int rh_dtype_bytes(RhDtype dtype); /* of one element alone: 1 for fp4; 0 for NONE */

const char *rh_dtype_name(RhDtype dtype);            /* "bf16" */
RhDtype rh_dtype_by_name(const char *name);          /* RH_DTYPE_NONE when unknown */
const char *rh_kernel_class_name(RhKernelClass cls); /* "gemm" */
/* Finds the class of a name; RH_KERNEL_NONE when unknown. Raw samples write "attention_backward". */
RhKernelClass rh_kernel_class_by_name(const char *name);
/* Returns whether both names are equal, with '_' and '-' being one letter. */
bool rh_kernel_names_equal(const char *a, const char *b);

/* Returns the FLOPs of fused attention for each (query, key) pair and head: forward has one product
 * over a key's columns and one over a value's; backward has three over keys (scores again,
 * gradients of queries and of keys) and two over values (FlashAttention-2, arXiv 2307.08691,
 * section 4.1). 2.5 x forward where both sizes are equal. */
static inline double rh_attention_pair_flops(int64_t key, int64_t value, bool backward)
{
    return backward ? (double)(6 * key + 4 * value) : (double)(2 * key + 2 * value);
}

#ifdef __cplusplus
}
#endif
