#pragma once
/* Surfaces of all kernels that a device's tables tell, as a profile. Docs: docs/theory/kernels.md. */
#include "calibrate/fit/fit_rows.h"
#include "calibrate/surfaces/published_kernel_tables.h"
#include "platforms/devices/custom_allreduce.h"
#include "platforms/devices/device.h"

typedef struct {
    char *name; /* "gemm fp8", "gemm fp8, m <= 32" */
    bool part;  /* of the class before */
    RhFitFigures fitted, held_out;
} RhSurfaceClass;

typedef struct {
    GPtrArray *surfaces; /* RhSurface */
    RhPeerReduce peers;  /* without curves: no table of them */
    GArray *classes;     /* RhSurfaceClass */
    GPtrArray *notes;    /* char*, owned: what was left out, and why */
} RhSurfacesFit;

/* `tables`: RhKernelTables, all of the device. Errors are of shapes held out of a first fit; what is kept
 * is fitted to all. `date`: "YYYY-MM". RH_ERROR_INPUT: of another device, or nothing to fit;
 * RH_ERROR_NO_ANSWER after `timeout_s` (0: none). */
RhSurfacesFit *rh_surfaces_fit(const GPtrArray *tables, const RhDevice *device, double holdout_frac,
                               const char *date, double timeout_s,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_surfaces_fit_free(RhSurfacesFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSurfacesFit, rh_surfaces_fit_free)
