#pragma once
/* Published serving runs beside their predictions: every row of a table is translated
 * (validate/served_translate.h) and served; each figure that it gives is a case: the mean time to the
 * first token, the mean time of a token after it, tokens made in a second. */
#include "validate/cases.h"

/* As rh_cases_judge, of a table of serving runs: a row of it is as many rows of the result as it gives
 * figures. A row that repeats another's figures to the last digit counts once. */
RhJudged *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options, GError **error);
