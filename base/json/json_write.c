#include <math.h>
#include <string.h>

#include "base/json/json.h"

struct RhJsonWriter {
    GString *out;
    bool pretty;
    GByteArray *filled; /* one byte per open container: does it have a member yet? */
};

RhJsonWriter *rh_json_writer_new(bool pretty)
{
    RhJsonWriter *w = g_new0(RhJsonWriter, 1);
    w->out = g_string_new(NULL);
    w->pretty = pretty;
    w->filled = g_byte_array_new();
    return w;
}

void rh_json_writer_free(RhJsonWriter *w)
{
    if (!w)
        return;
    if (w->out)
        g_string_free(w->out, TRUE);
    g_byte_array_unref(w->filled);
    g_free(w);
}

static void append_string(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_string_append_c(out, '"');
    for (const char *c = valid; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_printf(out, "\\%c", *c);
        else if (*c == '\n')
            g_string_append(out, "\\n");
        else if (*c == '\t')
            g_string_append(out, "\\t");
        else if ((unsigned char)*c < 0x20)
            g_string_append_printf(out, "\\u%04x", (unsigned)*c);
        else
            g_string_append_c(out, *c);
    }
    g_string_append_c(out, '"');
}

static void new_line(RhJsonWriter *w)
{
    if (!w->pretty)
        return;
    g_string_append_c(w->out, '\n');
    for (guint i = 0; i < w->filled->len; i++)
        g_string_append(w->out, "  ");
}

/* Writes comma, indentation and key of the next member. */
static void member(RhJsonWriter *w, const char *key)
{
    if (w->filled->len > 0) {
        guint8 *filled = &w->filled->data[w->filled->len - 1];
        if (*filled)
            g_string_append_c(w->out, ',');
        *filled = 1;
        new_line(w);
    }
    if (key) {
        append_string(w->out, key);
        g_string_append(w->out, w->pretty ? ": " : ":");
    }
}

static void begin_container(RhJsonWriter *w, const char *key, char bracket)
{
    guint8 empty = 0;
    member(w, key);
    g_string_append_c(w->out, bracket);
    g_byte_array_append(w->filled, &empty, 1);
}

static void end_container(RhJsonWriter *w, char bracket)
{
    g_return_if_fail(w->filled->len > 0);
    bool filled = w->filled->data[w->filled->len - 1];
    g_byte_array_set_size(w->filled, w->filled->len - 1);
    if (filled)
        new_line(w);
    g_string_append_c(w->out, bracket);
}

void rh_json_begin_object(RhJsonWriter *w, const char *key)
{
    begin_container(w, key, '{');
}

void rh_json_end_object(RhJsonWriter *w)
{
    end_container(w, '}');
}

void rh_json_begin_array(RhJsonWriter *w, const char *key)
{
    begin_container(w, key, '[');
}

void rh_json_end_array(RhJsonWriter *w)
{
    end_container(w, ']');
}

void rh_json_put_string(RhJsonWriter *w, const char *key, const char *value)
{
    member(w, key);
    if (value)
        append_string(w->out, value);
    else
        g_string_append(w->out, "null");
}

const char *rh_json_number_text(double value, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
    if (value == floor(value) && fabs(value) < 1e15)
        g_snprintf(text, G_ASCII_DTOSTR_BUF_SIZE, "%.0f", value == 0 ? 0.0 : value);
    else
        g_ascii_formatd(text, G_ASCII_DTOSTR_BUF_SIZE, "%.9g", value);
    return text;
}

void rh_json_put_number(RhJsonWriter *w, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_return_if_fail(isfinite(value));
    member(w, key);
    g_string_append(w->out, rh_json_number_text(value, text));
}

void rh_json_put_exact(RhJsonWriter *w, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_return_if_fail(isfinite(value));
    member(w, key);
    g_ascii_formatd(text, sizeof(text), "%.15g", value);
    if (g_ascii_strtod(text, NULL) != value)
        g_ascii_formatd(text, sizeof(text), "%.17g", value);
    g_string_append(w->out, text);
}

void rh_json_put_int(RhJsonWriter *w, const char *key, int64_t value)
{
    member(w, key);
    g_string_append_printf(w->out, "%" G_GINT64_FORMAT, value);
}

void rh_json_put_bool(RhJsonWriter *w, const char *key, bool value)
{
    member(w, key);
    g_string_append(w->out, value ? "true" : "false");
}

void rh_json_put_null(RhJsonWriter *w, const char *key)
{
    member(w, key);
    g_string_append(w->out, "null");
}

char *rh_json_writer_steal(RhJsonWriter *w)
{
    g_return_val_if_fail(w->filled->len == 0, NULL);
    g_string_append_c(w->out, '\n');
    char *text = g_string_free(g_steal_pointer(&w->out), FALSE);
    w->out = g_string_new(NULL);
    return text;
}
