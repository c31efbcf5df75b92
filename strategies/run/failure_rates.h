#pragma once
/* How often components of a cluster fail: published counts, per GPU and hour, each with its source.
 * A set of rates is a row here. */
#include "strategies/run/training_run_spec.h"

/* NULL-ended names, the default first. */
const char *const *rh_failure_rates_names(void);
/* NULL: there is none of that name. */
const RhFailureRates *rh_failure_rates_by_name(const char *name);
/* Sum over components, per GPU and hour. */
double rh_failure_rates_per_gpu_hour(const RhFailureRates *rates);
/* Mean time between failures of a job of so many GPUs. */
double rh_failure_rates_mtbf_s(const RhFailureRates *rates, int64_t gpus);
/* The rate per GPU and hour of so many failures in 1,000 days of nodes of 8 GPUs. */
double rh_failure_rate_of_node_days(double per_1000);
/* Index of a component by its name, in any case; -1: there is none. */
int32_t rh_failure_rates_find(const RhFailureRates *rates, const char *component);
/* Their names, by commas. Caller frees. */
char *rh_failure_rates_components(const RhFailureRates *rates);
