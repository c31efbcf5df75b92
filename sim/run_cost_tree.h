#pragma once
/* Makes a cost tree of a run: where the step time of the mean rank goes. */
#include "base/cost_tree.h"
#include "platforms/devices/power.h"
#include "sim/program_result.h"

/* Returns terms for kernels by phase and for every reason to wait; they sum to the run's step, and
 * the root states `step_time_s`. Caller frees. */
RhCost *rh_run_costs(const RhRun *run, double step_time_s);
/* Adds the compute term with one child for every phase that has kernels, as rh_run_costs does. */
void rh_run_costs_add_kernels(RhCost *root, double compute_s, const double kernel_s[RH_PHASE_LAST]);
/* Returns how the mean rank's device spent a step, for its power; sums to the run's step. Waiting
 * for a collective or a message counts as communication, all other time without a kernel as idle.
 */
RhPowerTimes rh_run_power_times(const RhRun *run);
/* Returns the FLOPs of the mean rank's kernels. */
double rh_run_mean_flops(const RhRun *run);
