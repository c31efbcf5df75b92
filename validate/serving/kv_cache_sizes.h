#pragma once
/* Compares the cache capacity that servers print at start-up with that of a simulated service
 * (strategies/serve/cache/kv_budget.h); a row is a start-up log. */
#include "validate/cases/case_predictions.h"

/* Evaluates a table of caches as rh_cases_judge: tokens where they were printed, else bytes per
 * GPU. */
RhEvaluation *rh_kv_cache_sizes_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
