#pragma once
/* Rows of published serving tables that repeat others, or cannot be. */
#include "validate/serving/served_translate.h"

/* Finds rows that repeat another row's figures: a table of the originals (borrowed RhCaseRow, by
 * figures), and the reason to skip a row, NULL for an original. Caller frees both. */
GHashTable *rh_served_originals(const RhCaseTable *table);
char *rh_served_repeats(GHashTable *originals, const RhCaseRow *row);
/* Returns why a row is impossible, because its GPUs cannot compute that much; NULL when it is
 * possible or unknown. Caller frees. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row);
