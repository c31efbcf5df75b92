#pragma once
/* Reads a text file line by line, plain or gzipped (also several gzip members in a row), in memory
 * that does not grow with the file.
 *
 *     g_autoptr(RhLines) lines = rh_lines_open(path, error);
 *     size_t length;
 *     for (char *line; (line = rh_lines_next(lines, &length, &local));)
 *         ... rh_lines_number(lines) ... */
#include <glib.h>
#include <stdint.h>

#define RH_LINE_BYTES_MAX (8u * 1024 * 1024)

typedef struct RhLines RhLines;

/* Opens a file. RH_ERROR_IO. */
RhLines *rh_lines_open(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads lines of a text in memory, borrowed, gzipped or not; `name` is used in messages. */
RhLines *rh_lines_of(const char *name, const void *text, size_t length);
void rh_lines_free(RhLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLines, rh_lines_free)

/* Returns the next line without its end (LF or CR LF) and without a byte order mark, NUL-terminated
 * (NULs inside remain), writable, borrowed until the next call. NULL at the end, or with *error:
 * RH_ERROR_IO; RH_ERROR_INPUT for damaged gzip or a line longer than RH_LINE_BYTES_MAX. */
char *rh_lines_next(RhLines *lines, size_t *length, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the number of the line last returned, from 1. */
int64_t rh_lines_number(const RhLines *lines);
const char *rh_lines_name(const RhLines *lines);
