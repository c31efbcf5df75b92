#pragma once
/* Can these samples determine so many constants? Copies of one shape are one shape. */
#include "calibrate/fit/fit_solve.h"

/* NULL, or what is lacking, as text; caller frees. `samples`: RhFitSample of one class. */
char *rh_fit_lack(const GArray *samples, size_t params_count);
