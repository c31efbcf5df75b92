#pragma once
/* All kernels of a list in memory at once, with one set of operands for each distinct kernel. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/raw.h"

typedef struct {
    RkCase *cases;   /* owned; one per distinct shape */
    size_t *case_of; /* owned; per line */
    size_t cases_count;
    const RkList *list; /* borrowed */
    int64_t launches;   /* launches of the whole list */
} RkWhole;

/* Returns the first line with the same kernel as `line`. */
size_t rk_list_first_like(const RkList *list, size_t line);

/* Prepares all kernels; call rk_whole_close also after a failure. */
bool rk_whole_open(RkGpu *gpu, const RkList *list, RkWhole *whole, RkError *why);
void rk_whole_close(RkGpu *gpu, RkWhole *whole);

/* Enqueue one kernel of the list, or all of them with their repetitions. */
void rk_whole_launch_line(const RkGpu *gpu, const RkWhole *whole, size_t line);
void rk_whole_launch(const RkGpu *gpu, const RkWhole *whole);

/* Captures the list as a graph, which the caller destroys. */
bool rk_whole_capture(const RkGpu *gpu, const RkWhole *whole, cudaGraphExec_t *out, RkError *why);
