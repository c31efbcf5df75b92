#pragma once
/* Metrics of a rehearsal, computed from a run or a bound; for the search, for explanations of a
 * changed layout, and for reports that compare bounds. */
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/train/block_cost.h"

/* Makes a rehearsal with all metrics that need no time: memory, capacity, error bar. */
RhRehearsal *rh_run_metrics_new(const RhProblem *c, const RhLayout *layout);
/* Sets the error bar and the odds of memory from the record of comparable measured runs. */
void rh_run_metrics_record(const RhProblem *c, RhRehearsal *r);
/* Fills times, rates and the cost tree from a run. */
void rh_run_metrics_run(const RhProblem *c, RhRehearsal *r, const RhRun *run);
/* Fills times and rates from a bound alone; the tree says what it is. */
void rh_run_metrics_bound(const RhProblem *c, RhRehearsal *r, double step_s);
/* Returns the times for the power of the mean GPU in a step as long as the bound, slow nodes
 * included. */
RhPowerTimes rh_run_metrics_bound_times(const RhProblem *c, const RhLayout *layout, double step_s);
/* Returns the kernel time of the mean rank; with several devices, each kernel runs on the
 * quickest. */
double rh_run_metrics_kernels_s(const RhProblem *c, const RhLayout *layout);
/* Kernels of one kind whose shapes are outside of those that the device's constants were fitted
 * to. */
typedef struct {
    double share_frac; /* of the mean rank's kernel times */
    RhKernel largest;  /* of the one that takes longest */
    RhCalibratedRange shapes;
} RhExtrapolated;
/* Share of extrapolated kernel time from which on it is reported and widens the step's error
 * bar. Below it, times that are off by 20 %, as one in ten of the measured shapes themselves are
 * (docs/theory/calibration.md), move the step by less than the narrowest error bars are wide (5
 * %). */
#define RH_EXTRAPOLATED_TOLD_FRAC 0.25
/* Relative error of a kernel outside of the measured shapes, assumed; one in ten of the measured
 * errs by as much. */
#define RH_EXTRAPOLATED_ERROR_FRAC 0.2
/* Computes the extrapolated kernels of each kind; the share is 0 if there are none or the device's
 * shapes are unknown. */
void rh_run_metrics_extrapolated(const RhProblem *c, const RhLayout *layout,
                                 RhExtrapolated out[RH_CALIBRATED_RANGE_LAST]);
/* Returns the factor by which slow nodes lengthen a step, the same for every layout of a job. */
double rh_straggler_factor(const RhProblem *c);
