#pragma once
/* How often components of a cluster fail: published counts, per GPU and hour, each with its source.
 * A set of rates is a row here. */
#include "strategies/run/training_run.h"

/* NULL-ended names, the default first. */
const char *const *rh_failure_rates_names(void);
/* NULL: there is none of that name. */
const RhFailureRates *rh_failure_rates_by_name(const char *name);
/* Sum over components, per GPU and hour. */
double rh_failure_rates_per_gpu_hour(const RhFailureRates *rates);
/* Mean time between failures of a job of so many GPUs. */
double rh_failure_rates_mtbf_s(const RhFailureRates *rates, int64_t gpus);
/* Share of the failures after which a node leaves for repair. */
double rh_failure_rates_away_frac(const RhFailureRates *rates);
