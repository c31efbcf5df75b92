#pragma once
/* What the model says of kernels that no constant of it was fitted to: grouped GEMMs, and GEMMs beside
 * a copy that holds SMs. Each becomes a class of the fit's report, with errors alone. */
#include "base/deadline.h"
#include "calibrate/kernels/kernels_fit.h"

/* By the device as it was fitted. Behind the deadline no row is looked at. */
void rh_kernels_predict(RhKernelsFit *fit, const GPtrArray *raws, RhDeadline deadline);
