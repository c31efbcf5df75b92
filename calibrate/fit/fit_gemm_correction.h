#pragma once
/* The compact correction of GEMMs (platforms/devices/gemm_correction.h), fitted to what the physical form
 * leaves.
 *
 * A factor F for each node minimises  sum w (F(shape) model / measured - 1)^2 + lambda sum (F -
 * 1)^2: linear in F; w falls as 1/|residual|, so that outliers do not pull; lambda draws nodes
 * without samples to 1. It is kept only where it pays: a quarter of the shapes to fit is set apart
 * first, and a correction fitted without them must lower their error. */
#include "calibrate/fit/fit_rows.h"

typedef struct {
    bool kept;
    int32_t rows_count;
    /* mean |log(model / measured)| over the shapes set apart; 0 with too few rows to try */
    double without_frac, with_frac;
} RhCorrectionTrial;

/* `rows`: RhFitRow of one format, held-out ones are not looked at. Puts the correction into the
 * device (which has none before) and refreshes it when it is kept. */
RhCorrectionTrial rh_fit_correction(RhDevice *device, const GArray *rows, RhDtype dtype,
                                    const char *source, const char *date);
