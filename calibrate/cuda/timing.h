#pragma once
/* Times a prepared sample: warm-up, then repetitions until the median is known to 2 % or the time
 * budget is spent. Runs are enqueued back to back behind a short delay, so that the host's launch
 * overhead is not included. */
#include "calibrate/cuda/kernel_case.h"
#include "calibrate/measure/measure_samples.h"

#define RK_WIDTH_WANTED 0.02

/* Times a case within about `budget_s` seconds. */
bool rk_time(const RkGpu *gpu, RkCase *c, double budget_s, RkMedian *out, RkError *why);

/* Function that enqueues arbitrary work on the GPU's stream, and its timing; `during` is read while
 * the GPU works. */
typedef void (*RkEnqueue)(const RkGpu *gpu, void *data);
bool rk_time_enqueued(const RkGpu *gpu, RkEnqueue enqueue, void *data, double budget_s,
                      RkMedian *out, RkReading *during, RkError *why);
