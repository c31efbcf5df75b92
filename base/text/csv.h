#pragma once
/* Table with a header: comma-separated values (RFC 4180), plain or gzipped.
 *
 * Cells may be quoted, with quotes in them doubled; a quoted cell may contain commas and line ends.
 * Empty lines, and lines that begin with '#' outside a quoted cell, are skipped. Cells are accessed
 * by the names of the header's columns. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t line;     /* first line of the row, from 1 */
    char **cells;     /* one per column of the header, NULL-terminated; owned by the table */
    int32_t *columns; /* byte position of each cell in its line, from 1 */
    int32_t *lines;   /* line of each cell */
} RhCsvRow;

typedef struct {
    char *name;      /* name of the file, for messages; owned */
    RhCsvRow header; /* names are stripped of spaces */
    GArray *rows;    /* RhCsvRow */
} RhCsv;

/* Reads a table. RH_ERROR_INPUT with file:line:col: an unclosed quote or text after one, a row with
 * more or fewer cells than the header, a duplicate column name, no header, text that is not UTF-8.
 * RH_ERROR_IO. */
RhCsv *rh_csv_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhCsv *rh_csv_parse(const char *name, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_csv_free(RhCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCsv, rh_csv_free)

/* Returns the column of that name, or -1. */
int32_t rh_csv_column(const RhCsv *csv, const char *name);
/* Sets RH_ERROR_INPUT "file:line:col: COLUMN "text" WHAT" and returns false. */
bool rh_csv_fail(const RhCsv *csv, const RhCsvRow *row, int32_t column, const char *what,
                 GError **error);
/* Adds how to mend it. */
bool rh_csv_fail_help(const RhCsv *csv, const RhCsvRow *row, int32_t column, const char *what,
                      const char *help, GError **error);
/* Reads a cell as a finite number in [low, high]; an empty cell, or column -1, gives 0.
 * RH_ERROR_INPUT. */
bool rh_csv_number(const RhCsv *csv, const RhCsvRow *row, int32_t column, double low, double high,
                   double *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads a cell as a whole number in [low, high], which may be written as 1.7e+09. */
bool rh_csv_whole(const RhCsv *csv, const RhCsvRow *row, int32_t column, int64_t low, int64_t high,
                  int64_t *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
