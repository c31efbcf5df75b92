#pragma once
/* All kernels of a list in memory at once, with one set of operands for each distinct kernel. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/measure/measure_samples.h"

typedef struct {
    RkCase *cases;   /* owned; one per distinct shape */
    size_t *case_of; /* owned; per line */
    size_t cases_count;
    const RkList *list; /* borrowed */
} RkWhole;

/* Prepares all kernels; call rk_whole_close also after a failure. */
bool rk_whole_open(RkGpu *gpu, const RkList *list, RkWhole *whole, RkError *why);
void rk_whole_close(RkGpu *gpu, RkWhole *whole);

/* Enqueue one kernel of the list, or all of them with their repetitions. */
void rk_whole_launch_line(const RkGpu *gpu, const RkWhole *whole, size_t line);
void rk_whole_launch(const RkGpu *gpu, const RkWhole *whole);

/* Captures the list as a graph, which the caller destroys. */
bool rk_whole_capture(const RkGpu *gpu, const RkWhole *whole, cudaGraphExec_t *out, RkError *why);
