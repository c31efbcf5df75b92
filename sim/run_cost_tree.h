#pragma once
/* A run as a tree of costs: where the step of a mean rank goes. */
#include "base/cost.h"
#include "platforms/devices/power.h"
#include "sim/run.h"

/* Terms for kernels, by the phases that ran any, and for every kind of wait; they sum to the run's
 * step, the root says `step_time_s`. Caller frees. */
RhCost *rh_run_costs(const RhRun *run, double step_time_s);
/* Compute and its phases, as rh_run_costs adds them: a term for every phase that has kernels. */
void rh_run_costs_add_kernels(RhCost *root, double compute_s, const double kernel_s[RH_PHASE_LAST]);
/* What the mean rank's device did in a step, for its power; sums to the run's step. Waiting for a
 * collective or a message is communication, everything else without a kernel is idle. */
RhPowerTimes rh_run_power_times(const RhRun *run);
/* FLOPs of the kernels that the mean rank ran. */
double rh_run_mean_flops(const RhRun *run);
