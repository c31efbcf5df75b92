#include "strategies/run/failure_file.h"

#include "base/csv.h"
#include "base/error.h"

#define TIME_MOST_S 1e12

bool rh_failure_file_load(const char *path, GArray *times_s, GError **error)
{
    g_autoptr(RhCsv) csv = rh_csv_load(path, error);
    if (!csv)
        return false;
    int32_t column = rh_csv_column(csv, "seconds");
    if (column < 0 || csv->rows->len == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:1:1: %s\nhelp: the first line is the heading `seconds`; then the time "
                       "of a failure a line, ascending",
                       path, column < 0 ? "no column \"seconds\"" : "no failure in it");
    double before_s = 0;
    for (guint i = 0; i < csv->rows->len; i++) {
        const RhCsvRow *row = &g_array_index(csv->rows, RhCsvRow, i);
        double t_s;
        if (!rh_csv_number(csv, row, column, 0, TIME_MOST_S, &t_s, error))
            return false;
        if (t_s < before_s) {
            rh_ignore_failure(
                rh_csv_fail(csv, row, column, "is before the failure in front of it", error));
            rh_error_help(error, "sort the lines by time");
            return false;
        }
        g_array_append_val(times_s, t_s);
        before_s = t_s;
    }
    return true;
}
