#pragma once
/* All kernels of a list at once in memory, on one set of operands for each that differs. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/raw.h"

typedef struct {
    RkCase *cases;   /* owned; of the distinct shapes */
    size_t *case_of; /* owned; of every line */
    size_t cases_count;
    const RkList *list; /* borrowed */
    int64_t launches;   /* of the whole list */
} RkWhole;

/* The first line with the same kernel as `line`. */
size_t rk_list_first_like(const RkList *list, size_t line);

/* What it opened is closed by rk_whole_close, also after a failure. */
bool rk_whole_open(RkGpu *gpu, const RkList *list, RkWhole *whole, RkWhy *why);
void rk_whole_close(RkGpu *gpu, RkWhole *whole);

/* Enqueues one kernel of the list; all of them, each as often as the list has it. */
void rk_whole_launch_line(const RkGpu *gpu, const RkWhole *whole, size_t line);
void rk_whole_launch(const RkGpu *gpu, const RkWhole *whole);

/* The list as a graph; the caller destroys it. */
bool rk_whole_capture(const RkGpu *gpu, const RkWhole *whole, cudaGraphExec_t *out, RkWhy *why);
