#include "calibrate/kernels/csv_columns.h"

#include <string.h>

#include "base/error.h"

bool rh_csv_text_has(const char *text, const char *const *columns)
{
    g_autofree char *line = g_strndup(text, strcspn(text, "\r\n"));
    g_auto(GStrv) names = g_strsplit(line, ",", -1);
    for (char **name = names; *name; name++)
        g_strstrip(*name);
    for (const char *const *column = columns; *column; column++)
        if (!g_strv_contains((const char *const *)names, *column))
            return false;
    return *columns != NULL;
}

const char *rh_csv_cell(const RhCsv *csv, const RhCsvRow *row, const char *column)
{
    int32_t place = rh_csv_column(csv, column);
    return place < 0 ? "" : row->cells[place];
}

bool rh_csv_take(const RhCsv *csv, const RhCsvRow *row, const char *column, double low, double high,
                 double *out, GError **error)
{
    double value = 0;
    int32_t place = rh_csv_column(csv, column);
    if (place < 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: the header has no column \"%s\"", csv->name,
                       csv->header.line, column);
    if (*row->cells[place] == 0)
        return rh_csv_fail(csv, row, place, "is empty", error);
    if (!rh_csv_number(csv, row, place, low, high, &value, error))
        return false;
    *out = value;
    return true;
}
