#pragma once
/* Text files that people and programs of theirs write: tables, layouts. */
#include <glib.h>
#include <stdbool.h>

/* The whole file: UTF-8 without control characters but tabs and ends of line, at most 64 MiB; a
 * byte order mark is taken off. Caller frees. RH_ERROR_IO; RH_ERROR_INPUT with FILE:LINE:COLUMN. */
char *rh_text_load(const char *path, GError **error);
/* The same checks of text that is already here; `name` stands in messages. Returns where it begins
 * behind a byte order mark, borrowed; NULL when it fails. */
const char *rh_text_check(const char *name, const char *text, size_t length, GError **error);
