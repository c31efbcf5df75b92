#pragma once
/* A GPU as the device of a run (calibrate/measure/measure_samples.h): the grid, a list, the checks. */
#include "calibrate/cuda/timing.h"
#include "calibrate/measure/measure_samples.h"

RkExit rk_measure_grid(RkGpu *gpu, const RkOptions *options, FILE *out);
RkExit rk_measure_list(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out);
RkExit rk_check_kernels(RkGpu *gpu, const RkOptions *options);
