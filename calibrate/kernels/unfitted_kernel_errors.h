#pragma once
/* Predicts kernels that no constant was fitted to: grouped GEMMs, and GEMMs beside a copy that
 * holds SMs. Each becomes a class of the fit's report with errors only. */
#include "base/deadline.h"
#include "calibrate/kernels/kernels_fit.h"

/* Predicts with the fitted device. After the deadline rows are skipped. */
void rh_kernels_predict(RhKernelsFit *fit, const GPtrArray *raws, RhDeadline deadline);
