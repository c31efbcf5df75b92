#pragma once
/* A sample to measure: a kernel class, a dtype and a shape, with the traffic and the work they
 * imply. Plain data without CUDA, so that the grid, the lists and the CSV can be tested on machines
 * without a GPU.
 *
 * Shapes by class (unused dimensions are 0):
 *   gemm               batch x (m x k)(k x n), the second stored as n x k: a linear layer
 *   gemm_nn            the second stored as k x n: the gradient of a layer's input
 *   gemm_nt            the first stored as k x m, the second as k x n, added to an fp32 result: the
 *                      gradient of a layer's weight as Megatron-LM accumulates it
 *   grouped_gemm       batch = experts, m = tokens of all experts, (m x k)(k x n)
 *   attention          batch sequences, m query tokens, n key tokens, k = head size
 *   norm, activation, add, softmax, optimizer, reduce
 *                      m rows of n columns
 *   cross_entropy      m tokens, n logits each
 *   embedding          m tokens, rows of n, k = entries of the table
 *   rotary, permute    batch sequences, m tokens, heads, k = head size
 *   copies             n = bytes copied, one direction
 *   launches           n = kernels launched per repetition
 *   empty              a kernel that does nothing, between events: what no kernel is shorter than
 *   sustained_gemm     a GEMM run for seconds on end, until clocks have settled
 *   gemm_beside_copy   a GEMM, heads = SMs held by the copy
 *   nccl               batch = GPUs, n = bytes per GPU
 *   sequence           a whole list of kernels, on a stream; sequence_graph: as one graph */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platforms/kernels/kernel_class.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    RK_CLASS_NONE,
    RK_GEMM,
    RK_GEMM_NN,
    RK_GEMM_NT,
    RK_GROUPED_GEMM,
    RK_ATTENTION,
    RK_ATTENTION_BACKWARD,
    RK_SOFTMAX,
    RK_NORM,
    RK_ROTARY,
    RK_ACTIVATION,
    RK_ADD,
    RK_EMBEDDING,
    RK_CROSS_ENTROPY,
    RK_OPTIMIZER,
    RK_REDUCE,
    RK_PERMUTE,
    RK_COPY_DEVICE,
    RK_COPY_TO_HOST_PINNED,
    RK_COPY_FROM_HOST_PINNED,
    RK_COPY_TO_HOST_PAGEABLE,
    RK_COPY_FROM_HOST_PAGEABLE,
    RK_COPY_BOTH_PINNED,
    RK_EMPTY,
    RK_LAUNCH,
    RK_LAUNCH_RATE,
    RK_GRAPH_LAUNCH,
    RK_SUSTAINED_GEMM,
    RK_GEMM_BESIDE_COPY,
    RK_NCCL_ALL_REDUCE,
    RK_NCCL_REDUCE_SCATTER,
    RK_NCCL_ALL_GATHER,
    RK_NCCL_ALL_TO_ALL,
    RK_NCCL_SEND_RECV,
    RK_RUN_LAST, /* classes below can be asked for by name; those that follow are rows of a list */
    RK_SEQUENCE = RK_RUN_LAST,
    RK_SEQUENCE_GRAPH,
    RK_CLASS_LAST,
} RkClass;

typedef struct {
    RkClass cls;
    RhDtype dtype;
    bool causal;
    int32_t heads, kv_heads;
    int64_t batch, m, n, k;
    double bytes; /* each operand touched once; copies: one direction, on the device both */
    double flops; /* a multiply-add counts 2; causal attention counts half the square */
    int32_t tier; /* 0 is measured first */
} RkSample;

typedef struct {
    RkSample *items; /* owned */
    size_t count, capacity;
} RkSamples;

const char *rk_class_name(RkClass cls); /* "cross_entropy" */
bool rk_class_is_product(RkClass cls);  /* a GEMM in one of its three layouts */
/* Returns the class that models of devices know this as; RH_KERNEL_NONE for copies, launches ... */
RhKernelClass rk_class_kernel(RkClass cls);
RkClass rk_class_by_name(const char *name); /* "cross-entropy" is understood too */

/* Computes bytes and flops of a sample whose shape is complete. */
void rk_sample_measure_up(RkSample *sample);

/* Completes a sample that knows only its bytes, as bandwidth-bound kernels of a list do: usual
 * columns are assumed and the rows chosen so that the traffic comes nearest to `bytes`. A complete
 * shape is left alone. False when the class cannot be told from its bytes. */
bool rk_sample_shape_from_bytes(RkSample *sample);

/* Returns whether both have the same kernel and shape, ignoring bytes, FLOPs and tier. */
bool rk_sample_same_shape(const RkSample *a, const RkSample *b);

/* Appends a copy. Returns false when memory is exhausted. */
bool rk_samples_add(RkSamples *samples, RkSample sample);
void rk_samples_clear(RkSamples *samples);

#ifdef __cplusplus
}
#endif
