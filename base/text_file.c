#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_internal.h"

#define BYTES_MAX (64u * 1024 * 1024)
#define MARK      "\xef\xbb\xbf" /* the byte order mark some editors write */

/* What is wrong with the character at `c`, or NULL. */
static const char *flaw_at(const char *c, size_t left)
{
    unsigned char byte = (unsigned char)*c;
    if (byte < 0x20)
        return strchr("\t\r\n", byte) && byte ? NULL
               : byte                         ? "a control character"
                                              : "a NUL byte: this is no text";
    if (byte < 0x7f)
        return NULL;
    gunichar u = g_utf8_get_char_validated(c, (gssize)left);
    if (u == (gunichar)-1 || u == (gunichar)-2)
        return "the text is not UTF-8";
    return g_unichar_iscntrl(u) ? "a control character" : NULL;
}

const char *rh_text_check(const char *name, const char *text, size_t length, GError **error)
{
    const char *start = length >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0
                            ? text + strlen(MARK)
                            : text,
               *end = text + length;
    size_t line = 1, column = 1;
    for (const char *c = start; c < end; column++) {
        const char *flaw = flaw_at(c, (size_t)(end - c));
        if (flaw) {
            rh_fail(error, RH_ERROR_INPUT, "%s:%zu:%zu: %s\nhelp: save it as UTF-8", name, line,
                    column, flaw);
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

char *rh_text_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, BYTES_MAX, &text, &length, error))
        return NULL;
    const char *start = rh_text_check(path, text, length, error);
    return start ? g_strdup(start) : NULL;
}

/* --- words --- */

/* Marks, embeddings and isolates of Unicode's bidirectional algorithm (UAX #9). */
static bool turns(gunichar c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 ||
           c == 0x2029;
}

static bool is_plain(gunichar c)
{
    return !g_unichar_iscntrl(c) && !turns(c);
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
