#pragma once
/* How a prepared sample is timed: warm-up, then repetitions until the median is known to 2 % or the
 * time for it is spent. Runs stand back to back on the stream behind a short delay, so that launch
 * overhead of the host is not in the figure. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/stats.h"

#define RK_WIDTH_WANTED 0.02

/* Spends about `budget_s` at most. */
bool rk_time(const RkGpu *gpu, RkCase *c, double budget_s, RkMedian *out, RkWhy *why);

/* The same for anything that enqueues work on the stream of the GPU. */
typedef void (*RkEnqueue)(const RkGpu *gpu, void *data);
bool rk_time_enqueued(const RkGpu *gpu, RkEnqueue enqueue, void *data, double budget_s,
                      RkMedian *out, RkWhy *why);

/* Seconds of a clock that never goes back. */
double rk_now_s(void);
