#pragma once
/* A kernel: one unit of compute as a device sees it. Workloads make them, devices cost them,
 * performers run them.
 *
 * Shapes by class (unused dimensions are 0):
 *   GEMM        batch x (m x k) * (k x n)
 *   ATTENTION   batch sequences, m query tokens, n key tokens, heads, kv_heads, k = head size;
 * causal or not; flash or unfused everything else is bandwidth-bound: `bytes` read and written,
 * `flops` for the record. */
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    RH_DTYPE_NONE,
    RH_DTYPE_FP32,
    RH_DTYPE_TF32,
    RH_DTYPE_FP16,
    RH_DTYPE_BF16,
    RH_DTYPE_FP8,
    RH_DTYPE_LAST,
} RhDtype;

typedef enum {
    RH_KERNEL_NONE,
    RH_KERNEL_GEMM,
    RH_KERNEL_ATTENTION,
    RH_KERNEL_ATTENTION_BACKWARD,
    RH_KERNEL_SOFTMAX, /* unfused attention's mask + softmax (+ dropout) */
    RH_KERNEL_NORM,
    RH_KERNEL_ROTARY,
    RH_KERNEL_ACTIVATION, /* GELU, SwiGLU ... */
    RH_KERNEL_ADD,        /* residual, bias, dropout-add */
    RH_KERNEL_EMBEDDING,
    RH_KERNEL_CROSS_ENTROPY, /* softmax-cross-entropy over a (sharded) vocabulary */
    RH_KERNEL_OPTIMIZER,
    RH_KERNEL_REDUCE, /* local reduction of a collective, gradient accumulation */
    RH_KERNEL_LAST,
} RhKernelClass;

typedef struct {
    uint8_t cls;   /* RhKernelClass */
    uint8_t dtype; /* RhDtype of the inputs */
    bool causal;
    int32_t heads, kv_heads;
    int64_t batch, m, n, k;
    double flops; /* multiply-adds count 2; causal attention counts half the square */
    double bytes; /* memory traffic with each operand touched once */
} RhKernel;

int rh_dtype_bytes(RhDtype dtype);
const char *rh_dtype_name(RhDtype dtype);            /* "bf16" */
RhDtype rh_dtype_by_name(const char *name);          /* RH_DTYPE_NONE when unknown */
const char *rh_kernel_class_name(RhKernelClass cls); /* "gemm" */
RhKernelClass rh_kernel_class_by_name(const char *name);
