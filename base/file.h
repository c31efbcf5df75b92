#pragma once
/* Text that people and programs of theirs write: tables, layouts, names and words. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The whole file, unwrapped where it is gzipped: UTF-8 without control characters but tabs and ends
 * of line, at most 64 MiB; a byte order mark is taken off. Caller frees. RH_ERROR_IO; RH_ERROR_INPUT with FILE:LINE:COLUMN. */
char *rh_text_load(const char *path, GError **error);
/* What a terminal, a table and a line of another file can hold: UTF-8 of one line, without control
 * characters and without those that turn the direction of what follows. */
bool rh_text_is_plain(const char *text);
/* One line with '?' for what is not so; caller frees. */
char *rh_text_plain(const char *text);
/* The same checks of text that is already here; `name` stands in messages. Returns where it begins
 * behind a byte order mark, borrowed; NULL when it fails. */
const char *rh_text_check(const char *name, const char *text, size_t length, GError **error);
/* The same of one line of a file, its number from 1. */
bool rh_text_check_line(const char *name, int64_t line, const char *text, size_t length,
                        GError **error);
