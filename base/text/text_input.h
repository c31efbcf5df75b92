#pragma once
/* Reads and checks text from users: tables, layouts and names. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Reads a whole text file, decompressed if it is gzipped: UTF-8 without control characters except
 * tabs and line ends, at most 64 MiB; a byte order mark is removed. Caller frees. RH_ERROR_IO;
 * RH_ERROR_INPUT with FILE:LINE:COLUMN. */
char *rh_text_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether a text is safe in a terminal, a table or a line of a file: one line of UTF-8
 * without control characters and without those that change the writing direction. */
bool rh_text_is_plain(const char *text);
/* Returns the text with '?' for every unsafe character; caller frees. */
char *rh_text_plain(const char *text);
/* Checks a text in memory as rh_text_load does; `name` is used in messages. Returns its start after
 * a byte order mark, borrowed; NULL when it fails. */
const char *rh_text_check(const char *name, const char *text, size_t length,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks one line of a file; `line` is its number from 1. */
bool rh_text_check_line(const char *name, int64_t line, const char *text, size_t length,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
