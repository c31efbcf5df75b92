#pragma once
/* A kernel: one unit of compute as a device sees it. Workloads make kernels, devices cost them, and
 * performers run them.
 *
 * Shapes by class (unused dimensions are 0):
 *
 * - GEMM: batch x (m x k) * (k x n)
 * - ATTENTION: batch sequences, m query tokens, n key tokens, heads, kv_heads, k = head size of
 *   queries and keys, v_head = head size of values; causal or not; fused
 * - SCAN: batch sequences, m tokens, n = tokens of a chunk, heads of values, kv_heads of keys,
 *   k and v_head = columns of one; `flops` and `bytes` are those of the step
 *
 * All other classes are bandwidth-bound: `bytes` read and written, `flops` for information. */
#include <stdbool.h>
#include <stdint.h>

#include "platforms/kernels/kernel_class.h"

/* Which operand of a GEMM is stored transposed, and whether it adds to its result. All layouts have
 * one cost here; lists of kernels to measure tell them apart. */
typedef enum {
    RH_GEMM_LINEAR,          /* the second as n x k: a linear layer forward, or not known */
    RH_GEMM_INPUT_GRADIENT,  /* the second as k x n */
    RH_GEMM_WEIGHT_GRADIENT, /* the first as k x m; added to a result in fp32 */
} RhGemmLayout;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
typedef struct {
    uint8_t cls;   /* RhKernelClass */
    uint8_t dtype; /* RhDtype of the inputs */
    bool causal;
    bool core;        /* depends on the tokens of one sequence: attention, a scan */
    uint8_t kv_dtype; /* attention: RhDtype of cached keys and values; NONE: as `dtype` */
    /* GEMM: grouped over experts; `m` rows each; `flops` count real rows only */
    bool grouped;
    /* GEMM: weight gradient with two narrow activation operands */
    bool narrow_gradient;
    uint8_t layout; /* GEMM: RhGemmLayout */
    int32_t heads, kv_heads;
    int32_t v_head; /* attention: columns of a value head; 0: as a key's, k */
    /* GEMM: bytes per element of its weights (k x n), where only these are narrow; 0: as the other
     * operand */
    float weight_bytes;
    int64_t batch, m, n, k;
    double flops; /* multiply-adds count 2; causal attention counts half the square */
    double bytes; /* memory traffic with each operand touched once */
    bool again; /* GEMM: its weights (k x n) are those of the GEMM before, and may lie in a cache */
    uint8_t unused[7];
} RhKernel;
#pragma GCC diagnostic pop

/* Returns the columns of one value head. */
static inline int64_t rh_kernel_v_head(const RhKernel *kernel)
{
    return kernel->v_head > 0 ? kernel->v_head : kernel->k;
}
