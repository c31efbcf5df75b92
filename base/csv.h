#pragma once
/* A table with a header: comma-separated values (RFC 4180), plain or gzipped.
 *
 * Cells may be quoted, and quotes in them doubled; a quoted cell may hold commas and ends of line.
 * Empty lines, and lines that begin with '#' outside a quoted cell, are passed over. Cells are read
 * by the names of the header's columns. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t line;     /* where the row begins, from 1 */
    char **cells;     /* as many as the header has, NULL-ended; owned by the table */
    int32_t *columns; /* where each cell begins in its line, in bytes, from 1 */
    int32_t *lines;   /* of each cell */
} RhCsvRow;

typedef struct {
    char *name;      /* of the file, for messages; owned */
    RhCsvRow header; /* names are stripped of spaces */
    GArray *rows;    /* RhCsvRow */
} RhCsv;

/* RH_ERROR_INPUT with file:line:col: a quote that is not closed or is followed by text, a row with
 * more or fewer cells than the header, a column named twice, no header, text that is not UTF-8.
 * RH_ERROR_IO. */
RhCsv *rh_csv_load(const char *path, GError **error);
RhCsv *rh_csv_parse(const char *name, const char *text, GError **error);
void rh_csv_free(RhCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCsv, rh_csv_free)

/* Column of that name, or -1. */
int32_t rh_csv_column(const RhCsv *csv, const char *name);
/* RH_ERROR_INPUT, "file:line:col: COLUMN "text" WHAT"; false. */
bool rh_csv_fail(const RhCsv *csv, const RhCsvRow *row, int32_t column, const char *what,
                 GError **error);
/* A cell as a finite number of [low, high]; an empty one, or no such column (-1), is `otherwise`. */
bool rh_csv_number(const RhCsv *csv, const RhCsvRow *row, int32_t column, double low, double high,
                   double otherwise, double *out, GError **error);
/* The same of a whole number, which may be written as 1.7e+09. */
bool rh_csv_whole(const RhCsv *csv, const RhCsvRow *row, int32_t column, int64_t low, int64_t high,
                  int64_t otherwise, int64_t *out, GError **error);
