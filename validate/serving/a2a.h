#pragma once
/* Published times and rates of kernels that send tokens to experts and back (DeepEP, pplx-kernels), beside
 * strategies/a2a_backend.h. */
#include "validate/cases/cases.h"

/* As rh_cases_judge, of a table of exchanges: of seconds where a latency is given, else of bytes a second. */
RhEvaluation *rh_exchanges_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                 GError **error);
