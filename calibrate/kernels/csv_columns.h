#pragma once
/* Which published table a CSV file is, by the names of its columns; only raw_tables.c and
 * measured_collective_csv.c include it. */
#include "base/text/csv.h"

#define RH_CSV_NEEDS_MAX 10 /* with the NULL */

/* Does the header that `text` begins with have all of these columns? NULL-ended. */
bool rh_csv_text_has(const char *text, const char *const *columns);
/* The cell of a column by its name; "" when there is no such column. */
const char *rh_csv_cell(const RhCsv *csv, const RhCsvRow *row, const char *column);
/* A number of [low, high] by its column's name; neither column nor cell may be missing.
 * RH_ERROR_INPUT with file:line:col. */
bool rh_csv_take(const RhCsv *csv, const RhCsvRow *row, const char *column, double low, double high,
                 double *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
