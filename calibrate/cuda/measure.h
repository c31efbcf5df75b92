#pragma once
/* Runs: the grid, a list, the checks. Prints progress on standard error. */
#include <stdio.h>

#include "calibrate/cuda/options.h"
#include "calibrate/cuda/raw.h"
#include "calibrate/cuda/timing.h"

typedef enum { RK_EXIT_OK, RK_EXIT_PARTIAL, RK_EXIT_CHECK, RK_EXIT_INPUT, RK_EXIT_GPU } RkExit;

/* Ctrl-C and a polite kill end a run after the sample in hand. */
void rk_stop_on_signals(void);

RkExit rk_measure_grid(RkGpu *gpu, const RkOptions *options, FILE *out);
RkExit rk_measure_list(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out);
RkExit rk_check_kernels(RkGpu *gpu, const RkOptions *options);
