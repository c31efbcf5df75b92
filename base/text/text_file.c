#include <gio/gio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/text/text_input.h"

#define BYTES_MAX   (64u * 1024 * 1024)
#define CHUNK_BYTES 65536
#define MARK        "\xef\xbb\xbf" /* the byte order mark some editors write */

/* Returns the error of the character at `c`, or NULL. */
static const char *flaw_at(const char *c, size_t left)
{
    unsigned char byte = (unsigned char)*c;
    if (byte < 0x20)
        return strchr("\t\r\n", byte) && byte ? NULL
               : byte                         ? "a control character"
                                              : "a NUL byte: this is not text";
    if (byte < 0x7f)
        return NULL;
    gunichar u = g_utf8_get_char_validated(c, (gssize)left);
    if (u == (gunichar)-1 || u == (gunichar)-2)
        return "the text is not UTF-8";
    return g_unichar_iscntrl(u) ? "a control character" : NULL;
}

static const char *check_from(const char *name, int64_t line, const char *start, size_t length,
                              GError **error)
{
    const char *end = start + length;
    size_t column = 1;
    for (const char *c = start; c < end; column++) {
        const char *flaw = flaw_at(c, (size_t)(end - c));
        if (flaw) {
            rh_fail(error, RH_ERROR_INPUT,
                    "%s:%" G_GINT64_FORMAT ":%zu: %s\nhelp: save it as UTF-8", name, line, column,
                    flaw);
            return NULL;
        }
        if (*c == '\n') {
            line++;
            column = 0;
        }
        c = g_utf8_next_char(c);
    }
    return start;
}

const char *rh_text_check(const char *name, const char *text, size_t length, GError **error)
{
    size_t mark =
        length >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0 ? strlen(MARK) : 0;
    return check_from(name, 1, text + mark, length - mark, error);
}

bool rh_text_check_line(const char *name, int64_t line, const char *text, size_t length,
                        GError **error)
{
    return check_from(name, line, text, length, error) != NULL;
}

/* Decompresses gzipped text in place of *text and appends NUL. */
static bool unpack_gzip(const char *path, char **text, size_t *length, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) raw = g_memory_input_stream_new_from_data(*text, (gssize)*length, NULL);
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(raw, G_CONVERTER(gunzip));
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree guint8 *chunk = g_malloc(CHUNK_BYTES);
    gssize got = 1;
    while (got > 0 && bytes->len <= BYTES_MAX) {
        got = g_input_stream_read(stream, chunk, CHUNK_BYTES, NULL, &local);
        g_byte_array_append(bytes, chunk, (guint)MAX(got, 0));
    }
    if (got < 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s: %s", path, local->message);
    if (bytes->len > BYTES_MAX)
        return rh_fail(error, RH_ERROR_INPUT, "%s holds more than %u MiB", path, BYTES_MAX >> 20);
    *length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    g_free(*text);
    *text = (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
    return true;
}

static bool is_gzip(const char *text, size_t length)
{
    return length >= 2 && memcmp(text, "\x1f\x8b", 2) == 0; /* RFC 1952, 2.3.1 */
}

char *rh_text_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, BYTES_MAX, &text, &length, error))
        return NULL;
    if (is_gzip(text, length) && !unpack_gzip(path, &text, &length, error))
        return NULL;
    const char *start = rh_text_check(path, text, length, error);
    return start ? g_strdup(start) : NULL;
}

/* --- direction of text --- */

/* Is it a mark, embedding or isolate of Unicode's bidirectional algorithm (UAX #9)? */
static bool changes_direction(gunichar c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 ||
           c == 0x2029;
}

static bool is_plain(gunichar c)
{
    return !g_unichar_iscntrl(c) && !changes_direction(c);
}

bool rh_text_is_plain(const char *text)
{
    if (!g_utf8_validate(text, -1, NULL))
        return false;
    for (const char *c = text; *c; c = g_utf8_next_char(c))
        if (!is_plain(g_utf8_get_char(c)))
            return false;
    return true;
}

char *rh_text_plain(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new(NULL);
    for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
        gunichar u = g_utf8_get_char(c);
        g_string_append_unichar(out, u == '\t' ? ' ' : is_plain(u) ? u : '?');
    }
    return g_string_free(out, FALSE);
}
