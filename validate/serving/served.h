#pragma once
/* Published serving runs beside their predictions: every row of a table is translated
 * (validate/serving/served_translate.h) and served; each figure that it gives is a case: the mean time to the
 * first token, the mean time of a token after it, tokens made in a second. */
#include "strategies/serve/results/request_records.h"
#include "validate/cases/cases.h"
#include "validate/serving/served_translate.h"

/* Mean times of the requests that are done: to the first token, and of each further one; 0: there are none. */
void rh_served_means(const RhServiceResult *result, double *ttft_s, double *tpot_s);
/* Tokens that were made, over the time from the first request to the last token; 0: none were. */
double rh_served_tokens_per_s(const RhServiceResult *result);
/* Of rows with the same figures, the one that they are of (borrowed RhCaseRow, by figures); and what is wrong with a row
 * that is another's, NULL of one that is its own. Caller frees both. */
GHashTable *rh_served_originals(const RhCaseTable *table);
char *rh_served_repeats(GHashTable *originals, const RhCaseRow *row);
/* Why a client cannot have lived through what a row says: of these GPUs none multiplies so much. NULL: it can, or
 * nothing tells. Caller frees. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row);
/* As rh_cases_judge, of a table of serving runs: a row of it is as many rows of the result as it gives
 * figures. A row that repeats another's figures to 0.01 ms counts once; one that outruns its GPUs not at
 * all. */
RhEvaluation *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options,
                              GError **error);
