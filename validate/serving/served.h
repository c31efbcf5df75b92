#pragma once
/* Published serving runs beside their predictions: every row of a table is translated
 * (validate/serving/served_translate.h) and served; each figure that it gives is a case: the mean time to the
 * first token, the mean time of a token after it, tokens made in a second. */
#include "strategies/serve/results/request_records.h"
#include "validate/cases/cases.h"
#include "validate/serving/served_translate.h"

/* Computes mean TTFT and TPOT of the finished requests; 0: there are none. */
void rh_served_means(const RhServiceResult *result, double *ttft_s, double *tpot_s);
/* Returns output tokens over the time from the first request to the last token; 0: none. */
double rh_served_tokens_per_s(const RhServiceResult *result);
/* Finds rows that repeat another row's figures: a table of the originals (borrowed RhCaseRow, by
 * figures), and the reason to skip a row, NULL for an original. Caller frees both. */
GHashTable *rh_served_originals(const RhCaseTable *table);
char *rh_served_repeats(GHashTable *originals, const RhCaseRow *row);
/* Returns why a row is impossible, because its GPUs cannot compute that much; NULL when it is
 * possible or unknown. Caller frees. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row);
/* Evaluates a table of serving runs as rh_cases_judge: each figure of a row is a row of the result.
 * Rows that repeat another's figures to 0.01 ms, and rows that exceed their GPUs' compute, are
 * skipped. */
RhEvaluation *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
