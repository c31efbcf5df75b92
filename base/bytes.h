#pragma once
/* Files of bytes, packed or not. */
#include <glib.h>

/* The whole file, unpacked where it is gzip's; at most `most` bytes when unpacked. Caller unrefs.
 * RH_ERROR_IO; RH_ERROR_INPUT when it is larger or no whole gzip file. */
GByteArray *rh_bytes_load(const char *path, gsize most, GError **error);
/* A text as a gzip file holds it, without a name or a date. Caller unrefs. */
GBytes *rh_bytes_pack(const char *text, gsize length);
