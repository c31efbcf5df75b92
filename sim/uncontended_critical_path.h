#pragma once
/* Computes the longest path through a program whose collectives and messages each take their time
 * on idle links (rh_schedule_time_s): a step without sharing of links or SMs, and without jitter.
 */
#include <stdbool.h>

#include "platforms/platform.h"
#include "sim/program.h"

/* Computes the seconds of a step, a lower bound of rh_engine_run's. RH_ERROR_INPUT for a collective
 * that its placement does not allow, and where tasks wait for each other. */
bool rh_critical_path_s(const RhProgram *p, const RhPlatform *platform, double *step_time_s,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
