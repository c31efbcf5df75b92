#pragma once
/* A processor's cores as a device: kernels of single precision, by OpenBLAS where they multiply.
 *
 * Calibration times them and rehearse-perform runs them, so that both do the same work:
 *
 *   gemm, gemm_nn, gemm_nt   one sgemm for each matrix of the batch, in the layout of its class
 *   attention                for each head and block of queries: scores, softmax, values; blocks of
 *                            keys that a causal mask hides are left out
 *   attention_backward       the five products of each head and block, and the softmax again
 *   any other class          as many bytes read and written: half of `bytes` copied to another half
 *
 * Operands come from a ring of memory larger than the caches that a core may count on, so that each
 * run reads what was not used for long, as in a step of training. */
#include "calibrate/measure/error_message.h"
#include "calibrate/measure/kernel_sample.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RkCpu RkCpu;

/* Takes `threads` cores and memory for kernels of up to `largest_bytes`. NULL with the reason when
 * OpenBLAS or the memory is not there. */
RkCpu *rk_cpu_open(int threads, double largest_bytes, RkError *why);
void rk_cpu_close(RkCpu *cpu);

/* Runs the kernel once; false when this processor has no such kernel. */
bool rk_cpu_run(RkCpu *cpu, const RkSample *kernel);

/* "openblas 0.3.21", owned by `cpu`. */
const char *rk_cpu_library(const RkCpu *cpu);

/* Returns bytes of the operands of one run, all that rk_cpu_open has to hold. */
double rk_cpu_bytes(const RkSample *kernel);

#ifdef __cplusplus
}
#endif
