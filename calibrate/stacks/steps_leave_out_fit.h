#pragma once
/* A stack's constants and the clocks of devices without some rows of a table of published steps.
 *
 * The fit's linear form (steps_linear_fit.h) about the present values is made once, of the segment graphs of
 * all rows; leaving rows out then is a solution of the linear form for the others. A clock that no row
 * tells is the mean of the others, and a network that none tells is the stack's. */
#include "calibrate/stacks/steps_linear_fit.h"

typedef struct RhStepsHeldOut RhStepsHeldOut;

/* RH_ERROR_USAGE for an unknown stack. `steps` outlives it. */
RhStepsHeldOut *rh_steps_held_out_new(const RhMeasuredSteps *steps, const char *stack,
                                      RhDeadline deadline,
                                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_steps_held_out_free(RhStepsHeldOut *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStepsHeldOut, rh_steps_held_out_free)
/* Returns the constants fitted to the rows that `keep` accepts; NULL where they are too few, or do not
 * converge. Caller frees. */
RhStepModel *rh_steps_held_out(const RhStepsHeldOut *w, RhStepKeepFunc keep, const void *which);
