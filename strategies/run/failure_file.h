#pragma once
/* The failures of a run as a file: a table with the column `seconds`, the times of failures from the
 * start on, ascending. */
#include <glib.h>
#include <stdbool.h>

/* Appends the times to `times_s` (double). RH_ERROR_INPUT with file:line:col: no such column, no row, a
 * time before the one in front of it. RH_ERROR_IO. */
bool rh_failure_file_load(const char *path, GArray *times_s,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
