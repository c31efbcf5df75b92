#pragma once
/* Computes the effect of 10 % more or less of each constant of the platform and the stack on a
 * step, by the objective of its plan, the plan that would then be best, and the value from which
 * another plan is. */
#include "cli/inputs/result.h"
#include "report/answers.h"

/* RhSensitivity, the largest effects first, those without any left out. Judged by the objective of the plan,
 * from what the result's file holds, moved as lower bounds are (perturb.h); the plans of the file and the rivals
 * are who could win, and what no longer fits does not. Caller frees. NULL when an input cannot be loaded again, or
 * a rehearsal fails. */
GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan,
                               const GArray *rivals, GError **error);
/* The best of a search by lower bounds that are no plan of the file: RhRival, caller unrefs; NULL and an
 * error of the rehearsals. */
GArray *rh_explain_rivals(const RhInputs *in, const RhResult *result, GError **error);
void rh_explain_append_sensitivity(GString *out, const RhInputs *in, RhObjective objective,
                                   const GArray *effects, const GArray *rivals);
