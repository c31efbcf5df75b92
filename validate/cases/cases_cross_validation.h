#pragma once
/* Cross-validation of predicted steps: every group (validate/cross/cross_groups.h) is predicted by what the
 * other groups tell.
 *
 * For each group, rules that were chosen on its rows are withheld, and the constants of the stack and
 * the clocks of devices are fitted to the published steps (calibrate/data/published-steps.csv) of
 * other groups (calibrate/stacks/steps_leave_out_fit.h). A run with a constant that was fitted elsewhere to
 * rows of its group on its device has no group, and counts in no error: that fit is not repeated here. */
#include "accuracy/evaluation.h"
#include "base/deadline.h"
#include "validate/cases/case_predictions.h"
#include "validate/cases/fitted_steps.h"

typedef struct RhCasesCross RhCasesCross;

/* All but the options is borrowed for the answer's life. */
RhCasesCross *rh_cases_cross_new(const RhCaseTable *table, RhTranslator *t,
                                 const RhFittedSteps *fitted, const RhCasesOptions *options,
                                 RhDeadline deadline);
/* Returns the group that a translated row counts in, interned; NULL: none. */
const char *rh_cases_cross_group(const RhCasesCross *x, const RhCaseRow *row);
/* Translates a row as its group allows; as rh_translate(). Rows of one group are best asked for
 * together. */
char *rh_cases_cross_translate(RhCasesCross *x, const RhCaseRow *row, RhTranslated *out);
void rh_cases_cross_note(const RhCasesCross *x, RhEvaluation *evaluation);
void rh_cases_cross_free(RhCasesCross *x);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCasesCross, rh_cases_cross_free)
