#include "base/json/json_stream_reader.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/gzip_stream.h"

#define CHUNK_BYTES  ((gsize)1 << 18)
#define DEPTH_MOST   64
#define NUMBER_BYTES 63

struct RhJsonStream {
    char *name;
    GInputStream *input;
    guint8 *chunk;
    gsize at, length; /* of the chunk */
    bool ended;
    GError *failure; /* of reading; reported with the token that needed the bytes */
    int64_t line, column;
    int64_t token_line, token_column;
    char containers[DEPTH_MOST]; /* '{' or '[' */
    int depth;
    bool begun;      /* a value of the innermost container, or the document's, was read */
    bool after_key;  /* a value must follow */
    bool comma_read; /* another element must follow */
    char text[RH_JSON_STREAM_TEXT_MOST + 1];
    double number;
};

/* --- bytes --- */

static RhJsonStream *stream_of(const char *name, GInputStream *raw)
{
    RhJsonStream *s = g_new0(RhJsonStream, 1);
    s->name = g_strdup(name);
    s->input = rh_bytes_unpacked(raw);
    s->chunk = g_malloc(CHUNK_BYTES);
    s->line = 1;
    return s;
}

RhJsonStream *rh_json_stream_open(const char *path, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) raw = g_file_read(file, NULL, &local);
    if (!raw) {
        rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", path, local->message);
        return NULL;
    }
    return stream_of(path, G_INPUT_STREAM(raw));
}

RhJsonStream *rh_json_stream_of(const char *name, const void *bytes, gsize length)
{
    g_autoptr(GInputStream) raw = g_memory_input_stream_new_from_data(bytes, (gssize)length, NULL);
    return stream_of(name, raw);
}

void rh_json_stream_free(RhJsonStream *s)
{
    if (!s)
        return;
    g_free(s->name);
    g_object_unref(s->input);
    g_free(s->chunk);
    g_clear_error(&s->failure);
    g_free(s);
}

static bool fill(RhJsonStream *s)
{
    if (s->ended)
        return false;
    gssize count = g_input_stream_read(s->input, s->chunk, CHUNK_BYTES, NULL, &s->failure);
    s->at = 0;
    s->length = count > 0 ? (gsize)count : 0;
    s->ended = count <= 0;
    return count > 0;
}

/* The next byte without taking it; -1: there is none. */
static inline int peek(RhJsonStream *s)
{
    return s->at < s->length || fill(s) ? s->chunk[s->at] : -1;
}

static inline int take(RhJsonStream *s)
{
    int byte = peek(s);
    if (byte < 0)
        return byte;
    s->at++;
    s->column++;
    if (byte == '\n') {
        s->line++;
        s->column = 0;
    }
    return byte;
}

/* --- errors --- */

bool rh_json_stream_fail(const RhJsonStream *s, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    return rh_fail(error, RH_ERROR_INPUT, "%s:%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ": %s",
                   s->name, s->token_line, s->token_column, text);
}

static RhJsonToken refuse(RhJsonStream *s, GError **error, const char *why)
{
    s->token_line = s->line;
    s->token_column = MAX(s->column, 1);
    if (s->failure)
        rh_fail(error, RH_ERROR_INPUT, "%s: %s", s->name, s->failure->message);
    else
        rh_json_stream_fail(s, error, "%s", s->ended ? "the file ends inside a value" : why);
    s->ended = true;
    s->at = s->length = 0;
    return RH_JSON_TOKEN_ERROR;
}

/* --- tokens --- */

static bool read_escape(RhJsonStream *s, char *out)
{
    int byte = take(s);
    *out = (char)byte;
    if (byte != 'u')
        return byte > 0 && strchr("\"\\/bfnrt", byte) != NULL;
    for (int i = 0; i < 4; i++)
        if ((byte = take(s)) < 0 || !g_ascii_isxdigit((char)byte))
            return false;
    *out = '?';
    return true;
}

static bool read_string(RhJsonStream *s)
{
    gsize length = 0;
    for (int byte = take(s); byte != '"'; byte = take(s)) {
        char plain = (char)byte;
        if (byte < 0x20)
            return false;
        if (byte == '\\' && !read_escape(s, &plain))
            return false;
        if (length < RH_JSON_STREAM_TEXT_MOST)
            s->text[length++] = plain;
    }
    s->text[length] = '\0';
    return true;
}

/* Reads what is no string and no container: a number or a word. */
static RhJsonToken read_bare(RhJsonStream *s, int first)
{
    gsize length = 0;
    s->text[length++] = (char)first;
    for (int byte = peek(s); byte >= 0 && (g_ascii_isalnum((char)byte) || strchr("+-.", byte));
         byte = peek(s)) {
        if (byte == 0 || length >= NUMBER_BYTES)
            return RH_JSON_TOKEN_ERROR;
        s->text[length++] = (char)take(s);
    }
    s->text[length] = '\0';
    if (!strcmp(s->text, "true") || !strcmp(s->text, "false") || !strcmp(s->text, "null"))
        return RH_JSON_TOKEN_WORD;
    if (!strcmp(s->text, "NaN") || !strcmp(s->text, "Infinity") || !strcmp(s->text, "-Infinity")) {
        s->number = *s->text == 'N'   ? (double)NAN
                    : *s->text == '-' ? -(double)INFINITY
                                      : (double)INFINITY;
        return RH_JSON_TOKEN_NUMBER;
    }
    char *end = NULL;
    s->number = g_ascii_strtod(s->text, &end);
    bool decimal = g_ascii_isdigit(*s->text) || (*s->text == '-' && g_ascii_isdigit(s->text[1]));
    return decimal && *end == '\0' && !strpbrk(s->text, "xXpP") ? RH_JSON_TOKEN_NUMBER
                                                                : RH_JSON_TOKEN_ERROR;
}

static int skip_spaces(RhJsonStream *s)
{
    int byte = peek(s);
    while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
        take(s);
        byte = peek(s);
    }
    return byte;
}

static RhJsonToken open_container(RhJsonStream *s, int byte, GError **error)
{
    if (s->depth == DEPTH_MOST)
        return refuse(s, error, "nested more than 64 deep");
    s->containers[s->depth++] = (char)byte;
    s->begun = false;
    return byte == '{' ? RH_JSON_TOKEN_OBJECT : RH_JSON_TOKEN_ARRAY;
}

static RhJsonToken close_container(RhJsonStream *s, int byte, GError **error)
{
    char opened = s->depth > 0 ? s->containers[s->depth - 1] : '\0';
    if (opened != (byte == '}' ? '{' : '[') || s->after_key || s->comma_read)
        return refuse(s, error, byte == '}' ? "unexpected }" : "unexpected ]");
    s->depth--;
    s->begun = true;
    return byte == '}' ? RH_JSON_TOKEN_OBJECT_END : RH_JSON_TOKEN_ARRAY_END;
}

static RhJsonToken read_key(RhJsonStream *s, int byte, GError **error)
{
    if (byte != '"' || !read_string(s))
        return refuse(s, error, "a key in quotes must stand here");
    if (skip_spaces(s) != ':')
        return refuse(s, error, "a colon must follow the key");
    take(s);
    s->after_key = true;
    return RH_JSON_TOKEN_KEY;
}

static RhJsonToken read_value(RhJsonStream *s, int byte, GError **error)
{
    s->after_key = false;
    if (byte == '{' || byte == '[')
        return open_container(s, byte, error);
    s->begun = true;
    if (byte == '"')
        return read_string(s) ? RH_JSON_TOKEN_TEXT : refuse(s, error, "a damaged string");
    RhJsonToken token = read_bare(s, byte);
    return token == RH_JSON_TOKEN_ERROR ? refuse(s, error, "a value must stand here") : token;
}

RhJsonToken rh_json_stream_next(RhJsonStream *s, GError **error)
{
    int byte = skip_spaces(s);
    s->comma_read = false;
    if (s->depth == 0 && s->begun)
        return byte < 0 && !s->failure ? RH_JSON_TOKEN_END
                                       : refuse(s, error, "text behind the document");
    if (byte == ',' && s->begun && s->depth > 0 && !s->after_key) {
        take(s);
        byte = skip_spaces(s);
        s->comma_read = true;
    } else if (s->begun && !s->after_key && byte != '}' && byte != ']') {
        return refuse(s, error, "a comma must stand here");
    }
    if (byte < 0)
        return refuse(s, error, "the file ends inside a value");
    take(s);
    s->token_line = s->line;
    s->token_column = s->column;
    if (byte == '}' || byte == ']')
        return close_container(s, byte, error);
    s->comma_read = false;
    return s->depth > 0 && s->containers[s->depth - 1] == '{' && !s->after_key
               ? read_key(s, byte, error)
               : read_value(s, byte, error);
}

bool rh_json_stream_skip(RhJsonStream *s, RhJsonToken token, GError **error)
{
    if (token == RH_JSON_TOKEN_KEY)
        token = rh_json_stream_next(s, error);
    if (token != RH_JSON_TOKEN_OBJECT && token != RH_JSON_TOKEN_ARRAY)
        return token != RH_JSON_TOKEN_ERROR;
    for (int outside = s->depth - 1; s->depth > outside;)
        if (rh_json_stream_next(s, error) == RH_JSON_TOKEN_ERROR)
            return false;
    return true;
}

const char *rh_json_stream_text(const RhJsonStream *s)
{
    return s->text;
}

double rh_json_stream_number(const RhJsonStream *s)
{
    return s->number;
}

int64_t rh_json_stream_line(const RhJsonStream *s)
{
    return s->token_line;
}

int64_t rh_json_stream_column(const RhJsonStream *s)
{
    return s->token_column;
}
