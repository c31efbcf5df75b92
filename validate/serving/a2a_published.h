#pragma once
/* Published times and rates of kernels that send tokens to experts and back (DeepEP, pplx-kernels), beside
 * strategies/a2a_backend.h. */
#include "validate/cases/case_predictions.h"

/* Evaluates a table of all-to-alls as rh_cases_judge: seconds where a latency is given, else bytes
 * per second. */
RhEvaluation *rh_exchanges_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
