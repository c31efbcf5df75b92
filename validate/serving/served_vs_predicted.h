#pragma once
/* Published serving runs beside their predictions: every row of a table is translated
 * (validate/serving/served_translate.h) and served; each figure that it gives is a case: the mean time to the
 * first token, the mean time of a token after it, tokens made in a second. */
#include "strategies/serve/results/request_records.h"
#include "validate/cases/case_predictions.h"
#include "validate/serving/served_translate.h"

/* Evaluates a table of serving runs as rh_cases_judge: each figure of a row is a row of the result.
 * Rows that repeat another's figures to 0.01 ms, exceed their GPUs' compute or contradict rows of their set-up are
 * skipped. */
RhEvaluation *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
