#pragma once
/* Computes the effect of 10 % more or less of each constant of the platform and the stack on a
 * step, by the objective of its plan, the plan that would then be best, and the value from which
 * another plan is. */
#include "cli/inputs/result.h"
#include "report/answers.h"

/* Returns RhSensitivity, the largest effects first, without those of no effect. Effects are
 * computed for the objective of the plan from the file's values, scaled as lower bounds change
 * (perturb.h); the plans of the file and the rivals can become the best, if they fit. Caller frees.
 * NULL when an input cannot be loaded again, or a rehearsal fails. */
GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan,
                               const GArray *rivals, GError **error);
/* Returns the best layouts of a search by lower bounds that are not in the file: RhRival, caller
 * unrefs; NULL and an error of the rehearsals. */
GArray *rh_explain_rivals(const RhInputs *in, const RhResult *result, GError **error);
void rh_explain_append_sensitivity(GString *out, const RhInputs *in, RhObjective objective,
                                   const GArray *effects, const GArray *rivals);
