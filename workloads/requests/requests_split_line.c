/* Splits lines of CSV and of JSON in place: without allocation, as a trace has millions of them. */
#include <stdarg.h>
#include <string.h>

#include "workloads/requests/requests_read.h"

#define DEPTH_MAX 64
#define KEYS_MAX  256

bool rh_flaw(RhFlaw *flaw, int32_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flaw->column = column;
    g_free(flaw->what);
    flaw->what = g_strdup_vprintf(format, args);
    va_end(args);
    return false;
}

/* --- CSV --- */

/* Removes the quotes of the cell at `at` in place; returns its end, or NULL. */
static char *unquote(char *at, RhCell *cell, RhFlaw *flaw)
{
    char *write = ++at;
    cell->from = write;
    while (*at && (*at != '"' || at[1] == '"')) {
        at += *at == '"';
        *write++ = *at++;
    }
    if (*at != '"' || (at[1] && at[1] != ',')) {
        rh_flaw(flaw, cell->column,
                *at ? "text behind a closing quote\nhelp: quotes inside a quoted cell are "
                      "written twice"
                    : "this quote is not closed\nhelp: a request is one line");
        return NULL;
    }
    *write = 0;
    return at + 1;
}

int32_t rh_request_cells(char *line, RhCell *cells, int32_t most, RhFlaw *flaw)
{
    int32_t count = 0;
    for (char *at = line;; at++) {
        if (count == most) {
            rh_flaw(flaw, (int32_t)(at - line) + 1, "more cells than the %d of any table here",
                    most);
            return -1;
        }
        RhCell *cell = &cells[count++];
        *cell = (RhCell){at, (int32_t)(at - line) + 1};
        if (*at == '"')
            at = unquote(at, cell, flaw);
        else
            at += strcspn(at, ",");
        if (!at)
            return -1;
        bool last = *at == 0;
        *at = 0;
        if (last)
            return count;
    }
}

/* --- JSON --- */

/* State of the JSON scanner within its line. */
typedef struct {
    const char *line, *at;
    RhFlaw *flaw;
} Scanner;

static int32_t column_of(const Scanner *s, const char *at)
{
    return (int32_t)(at - s->line) + 1;
}

static bool expected(const Scanner *s, const char *what)
{
    return rh_flaw(s->flaw, column_of(s, s->at),
                   "%s is expected here\nhelp: a line is one JSON object, as "
                   "{\"arrival_s\": 0.5, \"input_tokens\": 1024, \"output_tokens\": 256}",
                   what);
}

static void pass_space(Scanner *s)
{
    s->at += strspn(s->at, " \t");
}

/* Skips a string from behind its opening quote; stops at the closing one. */
static bool pass_string(Scanner *s)
{
    for (s->at++; *s->at && *s->at != '"'; s->at++)
        if (*s->at == '\\' && s->at[1])
            s->at++;
    return *s->at == '"' || expected(s, "the end of a string");
}

/* Skips from one bracket to its partner, including strings. */
static bool pass_nested(Scanner *s)
{
    char open[DEPTH_MAX];
    int32_t depth = 0;
    do {
        if (*s->at == '"' && !pass_string(s))
            return false;
        if (*s->at == '[' || *s->at == '{') {
            if (depth == DEPTH_MAX)
                return expected(s, "less nesting");
            open[depth++] = *s->at;
        } else if (*s->at == ']' || *s->at == '}') {
            if (open[--depth] != (*s->at == ']' ? '[' : '{'))
                return expected(s, "the other bracket");
        }
        if (!*s->at)
            return expected(s, "a closing bracket");
        s->at++;
    } while (depth > 0);
    return true;
}

static bool pass_bare(Scanner *s)
{
    size_t length = strcspn(s->at, " \t,}]");
    for (const char *const *word = (const char *const[]){"true", "false", "null", NULL}; *word;
         word++)
        if (strlen(*word) == length && strncmp(s->at, *word, length) == 0) {
            s->at += length;
            return true;
        }
    if (length == 0 || strspn(s->at, "+-.0123456789eE") < length)
        return expected(s, "a value");
    s->at += length;
    return true;
}

/* Skips a value; *from and *end delimit its text, without the quotes of a string. */
static bool pass_value(Scanner *s, const char **from, const char **end)
{
    *from = s->at;
    if (*s->at == '"') {
        if (!pass_string(s))
            return false;
        (*from)++;
        *end = s->at++;
        return true;
    }
    bool fine = *s->at == '[' || *s->at == '{' ? pass_nested(s) : pass_bare(s);
    *end = s->at;
    return fine;
}

/* Skips the next member of the object; *done at the object's end, which must be the end of the
 * line. */
static bool pass_member(Scanner *s, bool first, const char *bounds[4], bool *done)
{
    pass_space(s);
    *done = *s->at == '}';
    if (*done) {
        s->at++;
        pass_space(s);
        return *s->at == 0 || expected(s, "the end of the line");
    }
    if (!first && *s->at != ',')
        return expected(s, "a comma or a closing brace");
    s->at += !first;
    pass_space(s);
    if (*s->at != '"')
        return expected(s, "a key in quotes");
    if (!pass_value(s, &bounds[0], &bounds[1]))
        return false;
    pass_space(s);
    if (*s->at != ':')
        return expected(s, "a colon");
    s->at++;
    pass_space(s);
    return pass_value(s, &bounds[2], &bounds[3]);
}

static bool pass_brace(Scanner *s)
{
    pass_space(s);
    if (*s->at != '{')
        return expected(s, "an opening brace");
    s->at++;
    return true;
}

static int32_t find_key(const char *const *keys, int32_t count, const char *from, size_t length)
{
    for (int32_t i = 0; i < count; i++)
        if (keys[i] && strncmp(keys[i], from, length) == 0 && keys[i][length] == 0)
            return i;
    return -1;
}

bool rh_request_object(char *line, const char *const *keys, RhCell *cells, int32_t count,
                       RhFlaw *flaw)
{
    Scanner s = {line, line, flaw};
    const char *bounds[4], *ends[RH_FIELDS_COUNT] = {0};
    memset(cells, 0, sizeof *cells * (size_t)count);
    if (!pass_brace(&s))
        return false;
    for (bool first = true, done = false;; first = false) {
        if (!pass_member(&s, first, bounds, &done))
            return false;
        if (done)
            break;
        int32_t k = find_key(keys, count, bounds[0], (size_t)(bounds[1] - bounds[0]));
        if (k < 0)
            continue;
        if (ends[k])
            return rh_flaw(flaw, column_of(&s, bounds[0]), "a second \"%s\"\nhelp: leave one",
                           keys[k]);
        cells[k] = (RhCell){bounds[2], column_of(&s, bounds[2])};
        ends[k] = bounds[3];
    }
    for (int32_t k = 0; k < count; k++) {
        if (ends[k])
            line[ends[k] - line] = 0;
        if (cells[k].from && strcmp(cells[k].from, "null") == 0)
            cells[k].from = NULL;
    }
    return true;
}

char **rh_request_keys(const char *line, RhFlaw *flaw)
{
    Scanner s = {line, line, flaw};
    const char *bounds[4];
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
    if (!pass_brace(&s))
        return NULL;
    for (bool first = true, done = false;; first = false) {
        if (!pass_member(&s, first, bounds, &done))
            return NULL;
        if (done || keys->len == KEYS_MAX)
            break;
        g_ptr_array_add(keys, g_strndup(bounds[0], (gsize)(bounds[1] - bounds[0])));
    }
    g_ptr_array_add(keys, NULL);
    g_ptr_array_set_free_func(keys, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&keys), FALSE);
}
