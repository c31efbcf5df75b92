#pragma once
/* Reads binary files, gzipped or not, and compresses text. */
#include <glib.h>

/* Reads a whole file, decompressed if it is gzipped; at most `most` bytes when decompressed. Caller
 * unrefs. RH_ERROR_IO; RH_ERROR_INPUT when it is larger or a damaged gzip file. */
GByteArray *rh_bytes_load(const char *path, gsize most, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the beginning of a file, at most `most` bytes of it, decompressed if it is gzipped, and NUL
 * behind; NULL: it cannot be read. Caller frees. */
char *rh_bytes_head(const char *path, gsize most);
/* Returns a text in gzip format, without a name or a date. Caller unrefs. */
GBytes *rh_bytes_pack(const char *text, gsize length);
