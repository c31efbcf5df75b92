#pragma once
/* The GPU that is measured: its facts, one stream, and an arena of device memory that samples take
 * their operands from. Errors go up as a text; nothing here prints. */
#include <cuda_runtime.h>

#include "calibrate/measure/error_message.h"
#include "calibrate/measure/kernel_sample.h"

typedef struct {
    int index, sms, sm; /* sm: 90 for compute capability 9.0 */
    size_t l2_bytes, shared_max_bytes, memory_bytes;
    char name[96], pci[32];
    uint64_t seed;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    char *arena;
    size_t arena_bytes, arena_used;
} RkGpu;

/* True when `status` is success; else false with what was tried and the runtime's own words. */
bool rk_cuda(cudaError_t status, const char *tried, RkError *why);

/* Fails when there is no driver, no such device, or it is too old: `why` says which. */
bool rk_gpu_open(int index, uint64_t seed, RkGpu *out, RkError *why);
void rk_gpu_close(RkGpu *gpu);

/* Takes device memory; NULL when the arena is spent. Given back by setting arena_used. */
void *rk_gpu_take(RkGpu *gpu, size_t bytes);

/* How an operand is filled. */
typedef enum { RK_FILL_ZERO, RK_FILL_NORMAL, RK_FILL_UNIFORM, RK_FILL_INDEX } RkFill;

typedef struct {
    RhDtype dtype; /* an index is a 4-byte integer whatever it says */
    int64_t count;
    RkFill fill;
    float scale;   /* of random values */
    int64_t limit; /* of indices */
    bool written;  /* an output: a check compares it */
} RkOperand;

size_t rk_operand_bytes(const RkOperand *operand);

/* Fills `data` on the stream of the GPU. */
void rk_gpu_fill(const RkGpu *gpu, void *data, const RkOperand *operand, uint64_t seed);

/* Copies an operand to the host as doubles, which the caller frees. NULL on failure. */
double *rk_gpu_fetch(const RkGpu *gpu, const void *data, const RkOperand *operand);
