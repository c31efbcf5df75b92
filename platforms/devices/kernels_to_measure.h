#pragma once
/* List of kernels in the file format that `rehearse-kernels` runs on a GPU: "# rehearse.kernels/1",
 * a header, one row per kernel in order (docs/theory/calibration.md). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/kernel.h"

/* A kernel and its number of consecutive runs. `grouped`: the batch of GEMMs runs as one grouped
 * GEMM. */
typedef struct {
    RhKernel kernel;
    bool grouped;
    int64_t count;
} RhListedKernel;

/* Name of a kernel in lists and raw samples: of a GEMM, "gemm", "gemm_nn" or "gemm_nt" by its
 * layout. */
const char *rh_kernel_list_name(const RhListedKernel *listed);

/* Writes RhListedKernel as the file's text; caller frees. NULL and RH_ERROR_INPUT when a kernel's
 * value heads differ in size from its key heads, which the format lacks. */
char *rh_kernel_list_text(const GArray *list, GError **error) G_GNUC_WARN_UNUSED_RESULT;
