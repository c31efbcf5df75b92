#pragma once
/* Tables of MLPerf Inference results as rows of measured serving runs. A row of theirs has the rate at which
 * requests were offered, percentiles of the times that loadgen logs, and the engine's configuration where a
 * submission publishes it. Their names of columns are mapped to ours; what ours lack is composed:
 * source, note, and the deployment of a published configuration. The tokens a second of a run at an
 * offered rate only repeat that rate, and are dropped; what such a run tells is that its 99th
 * percentiles keep their limits at this rate, which is about the highest where they do. */
#include "validate/cases/cases_table.h"

/* Is it such a table? Told by its columns. */
bool rh_mlperf_table_is(const RhCsv *csv);
/* Returns the index of the column of such a table that holds one of ours; -1: none does. */
int32_t rh_mlperf_table_column(const RhCsv *csv, RhCaseColumn column);
/* Composes the texts of a row that was read by these columns; table->texts keeps them. */
void rh_mlperf_table_complete(RhCaseTable *table, const RhCsvRow *cells, RhCaseRow *row);
