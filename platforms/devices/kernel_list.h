#pragma once
/* Kernels as a file that `rehearse-kernels` performs on a GPU: "# rehearse.kernels/1", a header,
 * one row per kernel in order (docs/theory/calibration.md). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/kernel.h"

/* A kernel and how often it runs in a row. `grouped`: the batch of GEMMs runs as one grouped GEMM.
 */
typedef struct {
    RhKernel kernel;
    bool grouped;
    int64_t count;
} RhListedKernel;

/* The file's text from RhListedKernel; caller frees. The format has one head size: NULL and
 * RH_ERROR_INPUT when a kernel's values have another than its keys. */
char *rh_kernel_list_text(const GArray *list, GError **error);
