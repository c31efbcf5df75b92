#include "base/text/csv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal_parse.h"
#include "base/text/text_input.h"

#define CELLS_MAX 256

/* Position of the reader. */
typedef struct {
    const char *name;
    const char *at, *line_start;
    int32_t line;
    GError **error;
} Cursor;

/* State of reading a row. */
typedef struct {
    GPtrArray *cells;
    GArray *columns, *lines;
} Growing;

static bool fail_at(const Cursor *c, int32_t line, int64_t column, const char *what)
{
    return rh_fail(c->error, RH_ERROR_INPUT, "%s:%d:%" G_GINT64_FORMAT ": %s", c->name, line,
                   column, what);
}

static int32_t column_of(const Cursor *c)
{
    return (int32_t)(c->at - c->line_start) + 1;
}

static void next_line(Cursor *c)
{
    c->line++;
    c->line_start = c->at;
}

static bool ends_cell(const char *at)
{
    return *at == 0 || *at == ',' || *at == '\n' || (*at == '\r' && (at[1] == '\n' || !at[1]));
}

/* Reads a quoted cell from behind the opening quote; stops behind the closing one. */
static bool read_quoted(Cursor *c, GString *text)
{
    int32_t line = c->line, column = column_of(c);
    for (c->at++; *c->at; c->at++) {
        if (*c->at == '"' && c->at[1] != '"')
            break;
        if (*c->at == '"')
            c->at++;
        g_string_append_c(text, *c->at);
        if (*c->at == '\n') {
            c->at++;
            next_line(c);
            c->at--;
        }
    }
    if (*c->at != '"')
        return fail_at(c, line, column,
                       "this quote is not closed\nhelp: quotes inside a quoted "
                       "cell are written twice");
    c->at++;
    return ends_cell(c->at) || fail_at(c, c->line, column_of(c),
                                       "text behind a closing quote\nhelp: quotes inside a "
                                       "quoted cell are written twice");
}

static bool read_cell(Cursor *c, Growing *row)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int32_t column = column_of(c);
    g_array_append_val(row->columns, column);
    g_array_append_val(row->lines, c->line);
    if (*c->at == '"') {
        if (!read_quoted(c, text))
            return false;
    } else {
        while (!ends_cell(c->at))
            g_string_append_c(text, *c->at++);
    }
    g_ptr_array_add(row->cells, g_string_free(g_steal_pointer(&text), FALSE));
    return row->cells->len <= CELLS_MAX ||
           fail_at(c, c->line, column, "more cells in a row than any table here has");
}

static bool read_cells(Cursor *c, Growing *row)
{
    for (;;) {
        if (!read_cell(c, row))
            return false;
        if (*c->at != ',')
            break;
        c->at++;
    }
    c->at += *c->at == '\r';
    if (*c->at == '\n') {
        c->at++;
        next_line(c);
    }
    return true;
}

static void pass_idle_lines(Cursor *c)
{
    for (;;) {
        size_t length = strcspn(c->at, "\n"), blank = strspn(c->at, " \t\r");
        if (!*c->at || (*c->at != '#' && blank < length))
            return;
        c->at += length + (c->at[length] == '\n');
        next_line(c);
    }
}

static bool read_row(Cursor *c, RhCsvRow *out)
{
    Growing row = {g_ptr_array_new_with_free_func(g_free),
                   g_array_new(FALSE, FALSE, sizeof(int32_t)),
                   g_array_new(FALSE, FALSE, sizeof(int32_t))};
    out->line = c->line;
    bool fine = read_cells(c, &row);
    if (fine) {
        g_ptr_array_add(row.cells, NULL);
        g_ptr_array_set_free_func(row.cells, NULL);
        out->cells = (char **)g_ptr_array_free(row.cells, FALSE);
        out->columns = (int32_t *)(void *)g_array_free(row.columns, FALSE);
        out->lines = (int32_t *)(void *)g_array_free(row.lines, FALSE);
        return true;
    }
    g_ptr_array_unref(row.cells);
    g_array_unref(row.columns);
    g_array_unref(row.lines);
    return false;
}

static void row_clear(void *data)
{
    RhCsvRow *row = data;
    g_strfreev(row->cells);
    g_free(row->columns);
    g_free(row->lines);
}

static bool check_header(const Cursor *c, const RhCsvRow *header)
{
    for (guint i = 0; header->cells[i]; i++) {
        g_strstrip(header->cells[i]);
        for (guint k = 0; k < i; k++)
            if (strcmp(header->cells[i], header->cells[k]) == 0)
                return rh_fail(c->error, RH_ERROR_INPUT,
                               "%s:%d:%d: two columns are named \"%.60s\"", c->name,
                               header->lines[i], header->columns[i], header->cells[i]);
    }
    return true;
}

static bool read_rows(Cursor *c, RhCsv *csv)
{
    guint cells = g_strv_length(csv->header.cells);
    for (pass_idle_lines(c); *c->at; pass_idle_lines(c)) {
        RhCsvRow row;
        if (!read_row(c, &row))
            return false;
        g_array_append_val(csv->rows, row);
        if (g_strv_length(row.cells) != cells)
            return rh_fail(c->error, RH_ERROR_INPUT,
                           "%s:%d:1: %u cells in this row, %u in the header\n"
                           "help: put quotes about a cell that holds commas",
                           c->name, row.line, g_strv_length(row.cells), cells);
    }
    return true;
}

/* Checks the encoding: cells are compared and shown as characters everywhere, so a table in another
 * encoding is refused. */
static bool check_text(const char *name, const char *text, GError **error)
{
    const char *end = NULL;
    if (g_utf8_validate(text, -1, &end))
        return true;
    Cursor c = {name, text, text, 1, error};
    while (c.at < end)
        if (*c.at++ == '\n')
            next_line(&c);
    return fail_at(&c, c.line, column_of(&c),
                   "this text is not UTF-8\nhelp: save the table in that encoding");
}

RhCsv *rh_csv_parse(const char *name, const char *text, GError **error)
{
    Cursor c = {name, text, text, 1, error};
    if (!check_text(name, text, error))
        return NULL;
    g_autoptr(RhCsv) csv = g_new0(RhCsv, 1);
    csv->name = g_strdup(name);
    csv->rows = g_array_new(FALSE, TRUE, sizeof(RhCsvRow));
    g_array_set_clear_func(csv->rows, row_clear);
    pass_idle_lines(&c);
    if (!*c.at) {
        rh_fail(error, RH_ERROR_INPUT, "%s: there is no header", name);
        return NULL;
    }
    if (!read_row(&c, &csv->header) || !check_header(&c, &csv->header) || !read_rows(&c, csv))
        return NULL;
    return g_steal_pointer(&csv);
}

RhCsv *rh_csv_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_csv_parse(path, text, error) : NULL;
}

void rh_csv_free(RhCsv *csv)
{
    if (!csv)
        return;
    row_clear(&csv->header);
    g_array_unref(csv->rows);
    g_free(csv->name);
    g_free(csv);
}

int32_t rh_csv_column(const RhCsv *csv, const char *name)
{
    for (int32_t i = 0; csv->header.cells[i]; i++)
        if (strcmp(csv->header.cells[i], name) == 0)
            return i;
    return -1;
}

bool rh_csv_fail_help(const RhCsv *csv, const RhCsvRow *row, int32_t column, const char *what,
                      const char *help, GError **error)
{
    g_autofree char *plain = rh_text_plain(row->cells[column]);
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s \"%.60s\" %s\nhelp: %s", csv->name,
                   row->lines[column], row->columns[column], csv->header.cells[column], plain, what,
                   help);
}

bool rh_csv_fail(const RhCsv *csv, const RhCsvRow *row, int32_t column, const char *what,
                 GError **error)
{
    return rh_csv_fail_help(csv, row, column, what, "correct the cell", error);
}

bool rh_csv_number(const RhCsv *csv, const RhCsvRow *row, int32_t column, double low, double high,
                   double *out, GError **error)
{
    const char *text = column < 0 ? "" : row->cells[column];
    double x = 0;
    *out = 0;
    if (!*text)
        return true;
    if (!rh_number_parse(text, &x) || x < low || x > high) {
        g_autofree char *what = g_strdup_printf("is not a number from %g to %g", low, high);
        return rh_csv_fail(csv, row, column, what, error);
    }
    *out = x;
    return true;
}

bool rh_csv_whole(const RhCsv *csv, const RhCsvRow *row, int32_t column, int64_t low, int64_t high,
                  int64_t *out, GError **error)
{
    const char *text = column < 0 ? "" : row->cells[column];
    double x = 0;
    *out = 0;
    if (!*text)
        return true;
    if (!rh_number_parse(text, &x) || x < (double)low || x > (double)high || x != floor(x)) {
        g_autofree char *what = g_strdup_printf(
            "is not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, low, high);
        return rh_csv_fail(csv, row, column, what, error);
    }
    *out = (int64_t)x;
    return true;
}
