#include "base/text/text_table.h"

#include <stdarg.h>
#include <string.h>

struct RhTable {
    char *alignment;
    guint columns;
    GPtrArray *rows; /* owned GStrv, `columns` cells each */
};

RhTable *rh_table_new(const char *alignment)
{
    RhTable *t = g_new0(RhTable, 1);
    t->alignment = g_strdup(alignment);
    t->columns = (guint)strlen(alignment);
    t->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    return t;
}

void rh_table_rowf(RhTable *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    g_auto(GStrv) given = g_strsplit(line, "|", (gint)t->columns);
    char **cells = g_new0(char *, t->columns + 1);
    bool more = true;
    for (guint i = 0; i < t->columns; i++) {
        more = more && given[i];
        cells[i] = g_strdup(more ? given[i] : "");
    }
    g_ptr_array_add(t->rows, cells);
}

/* Columns on a terminal. */
static glong width_of(const char *text)
{
    if (!g_utf8_validate(text, -1, NULL))
        return (glong)strlen(text);
    glong width = 0;
    for (const char *c = text; *c; c = g_utf8_next_char(c)) {
        gunichar u = g_utf8_get_char(c);
        width += g_unichar_iszerowidth(u) ? 0 : g_unichar_iswide(u) ? 2 : 1;
    }
    return width;
}

static void append_cell(GString *out, const char *text, glong width, char alignment, bool last)
{
    glong space = width - width_of(text);
    if (alignment == '>')
        g_string_append_printf(out, "%*s", (int)space, "");
    g_string_append(out, text);
    if (alignment != '>' && !last)
        g_string_append_printf(out, "%*s", (int)space, "");
}

/* Width of the widest cell of each column; caller frees. */
static glong *column_widths(const RhTable *t)
{
    glong *widths = g_new0(glong, t->columns);
    for (guint r = 0; r < t->rows->len; r++)
        for (guint c = 0; c < t->columns; c++)
            widths[c] = MAX(widths[c], width_of(((char **)t->rows->pdata[r])[c]));
    return widths;
}

bool rh_table_append_within(RhTable *t, GString *out, const char *indent, glong width)
{
    g_autofree glong *widths = column_widths(t);
    glong over = width_of(indent) + 2 * ((glong)t->columns - 1) - width;
    for (guint c = 0; c < t->columns; c++)
        over += widths[c];
    for (guint r = 0; r < t->rows->len; r++) {
        char **cells = t->rows->pdata[r];
        gsize start = out->len;
        g_string_append(out, indent);
        for (guint c = 0; c < t->columns; c++) {
            append_cell(out, cells[c], widths[c], t->alignment[c], c + 1 == t->columns);
            g_string_append(out, c + 1 == t->columns ? "" : (glong)c < over ? " " : "  ");
        }
        while (out->len > start && out->str[out->len - 1] == ' ')
            g_string_truncate(out, out->len - 1);
        g_string_append_c(out, '\n');
    }
    return over < (glong)t->columns;
}

void rh_table_append(RhTable *t, GString *out, const char *indent)
{
    rh_table_append_within(t, out, indent, G_MAXINT);
}

void rh_table_free(RhTable *t)
{
    if (!t)
        return;
    g_ptr_array_unref(t->rows);
    g_free(t->alignment);
    g_free(t);
}
