#pragma once
/* What servers print of their cache when they start, beside the cache that a service has
 * (strategies/serve/cache/kv_budget.h): a row is a start-up log. */
#include "validate/cases/cases.h"

/* As rh_cases_judge, of a table of caches: of tokens where they were printed, else of bytes of one GPU. */
RhEvaluation *rh_kv_cache_sizes_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                      GError **error);
