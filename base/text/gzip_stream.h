#pragma once
/* Streams of bytes, gzipped or not. */
#include <gio/gio.h>

/* Returns a stream of the bytes as they were before they were gzipped, or, where they begin as no gzip
 * file, as they are. Caller unrefs. */
GInputStream *rh_bytes_unpacked(GInputStream *raw);
