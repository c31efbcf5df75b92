#pragma once
/* aiconfigurator's tables of DeepEP (wideep_deepep_ll_perf, wideep_deepep_normal_perf) as rows of measured exchanges.
 * Each of theirs is two of ours, the way there (fp8) and the way back (bf16); nodes have eight GPUs. */
#include "validate/cases/cases_table.h"

/* Is it such a table? Told by its columns. */
bool rh_exchange_table_is(const RhCsv *csv);
/* Appends the rows of table->csv, whose further texts table->texts then keeps. RH_ERROR_INPUT with file:line:col. */
bool rh_exchange_table_read(RhCaseTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;
