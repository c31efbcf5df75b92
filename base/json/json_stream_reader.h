#pragma once
/* Reads JSON token by token from a stream, gzipped or not, for files that are too large to hold: the
 * memory it takes does not grow with the file.
 *
 *     g_autoptr(RhJsonStream) s = rh_json_stream_open("trace.json.gz", &error);
 *     while (rh_json_stream_next(s, &error) > RH_JSON_TOKEN_END) ...
 *
 * It refuses what rh_json_load() refuses of the form (trailing text, nesting over 64, damaged
 * numbers and strings), but not keys that stand twice; NaN and Infinity are numbers, comments are
 * refused. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    RH_JSON_TOKEN_ERROR, /* reported; nothing follows */
    RH_JSON_TOKEN_END,   /* of the document */
    RH_JSON_TOKEN_OBJECT,
    RH_JSON_TOKEN_OBJECT_END,
    RH_JSON_TOKEN_ARRAY,
    RH_JSON_TOKEN_ARRAY_END,
    RH_JSON_TOKEN_KEY,
    RH_JSON_TOKEN_TEXT,
    RH_JSON_TOKEN_NUMBER,
    RH_JSON_TOKEN_WORD, /* true, false, null */
} RhJsonToken;

/* Bytes that are kept of a string: what is longer is cut. */
#define RH_JSON_STREAM_TEXT_MOST 1024

typedef struct RhJsonStream RhJsonStream;

/* RH_ERROR_IO. */
RhJsonStream *rh_json_stream_open(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads from memory, which must live as long; `name` is for messages. */
RhJsonStream *rh_json_stream_of(const char *name, const void *bytes, gsize length);
void rh_json_stream_free(RhJsonStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJsonStream, rh_json_stream_free)

/* Returns the next token; ERROR: RH_ERROR_INPUT with file:line:col, or RH_ERROR_IO. */
RhJsonToken rh_json_stream_next(RhJsonStream *stream, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Passes over the value that follows a key, or the rest of one that began with `token`. */
bool rh_json_stream_skip(RhJsonStream *stream, RhJsonToken token,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The key or text of the latest token, valid until the next; escapes other than \" \\ \/ are kept as
 * they stand. */
const char *rh_json_stream_text(const RhJsonStream *stream);
double rh_json_stream_number(const RhJsonStream *stream);
/* Where the latest token begins, counted from 1. */
int64_t rh_json_stream_line(const RhJsonStream *stream);
int64_t rh_json_stream_column(const RhJsonStream *stream);
/* Sets an error at the latest token. */
bool rh_json_stream_fail(const RhJsonStream *stream, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
