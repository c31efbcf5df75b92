#pragma once
/* The designed grid: which shapes are worth measuring, and in which order.
 *
 * Per class and dtype: shapes of real models under tensor parallelism 1 to 8, a quasi-random
 * log-spaced cover of the space between them, and pairs on either side of a tile boundary. bf16 has
 * most of it. The order is breadth-first: whatever prefix a budget allows holds every class in its
 * share. Does not know CUDA or the device beyond the number of its SMs. */
#include "calibrate/measure/kernel_sample.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;
    int64_t hidden, ffn, vocab;
    int32_t heads, kv_heads, head_size;
    bool gated;         /* SwiGLU: two matrices up */
    const char *source; /* of the sizes */
} RkModel;

typedef struct {
    int32_t sms;      /* of the device; waves of GEMM tiles are placed by it */
    int32_t gpus;     /* visible; with 1 there are no collectives */
    double bytes_max; /* the largest operands of one sample */
    double flops_max; /* the longest sample: longer ones give no further information */
    int64_t m_max;    /* most rows of a product */
    RhDtype main;     /* the format with most shapes; the other formats of `dtypes` have few */
    bool dtypes[RH_DTYPE_LAST];
    bool classes[RK_CLASS_LAST];
} RkGridOptions;

/* The models whose shapes the grid holds; ends with a NULL name. */
const RkModel *rk_models(void);

/* Everything on, an H100's 132 SMs, 8 GB of operands. */
RkGridOptions rk_grid_defaults(void);

/* The grid in the order of measuring, without duplicates, bytes and flops filled in; the caller
 * clears it. False when memory is exhausted. */
bool rk_grid(const RkGridOptions *options, RkSamples *out);

/* Sorts by tier; within a tier the streams (class, dtype) are interleaved in proportion to their
 * sizes. The order of one stream is kept. */
bool rk_grid_interleave(RkSamples *samples);

#ifdef __cplusplus
}
#endif
