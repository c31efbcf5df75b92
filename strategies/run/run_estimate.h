#pragma once
/* The goodput of a problem in closed form, without drawing runs: exponential failures at published rates,
 * restart from storage, the best interval, the defaults of checkpoints, detection and start-up. */
#include "strategies/run/training_run_spec.h"
#include "strategies/training_problem.h"

#define RH_RUN_DETECTION_MIN 10  /* PyTorch's default time-out of NCCL collectives */
#define RH_RUN_STARTUP_S     371 /* MLPerf v5.0, 405B on 8,192 H100: init_start to run_start */

double rh_run_estimate_frac(const RhProblem *c, const RhFailureRates *rates);
