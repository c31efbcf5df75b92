/* Problems: collected while reading, rendered together. */
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/json_internal.h"

#define PROBLEMS_MAX   20
#define LINE_MAX_SHOWN 120

/* One-based line and column (in characters) of an offset, and the line's bounds. */
static void line_of(const RhJson *doc, size_t offset, size_t *line, size_t *start, size_t *end)
{
    *line = 1;
    *start = 0;
    for (size_t i = 0; i < offset && i < doc->length; i++)
        if (doc->text[i] == '\n') {
            (*line)++;
            *start = i + 1;
        }
    *end = *start + strcspn(doc->text + *start, "\r\n");
}

static char *printable(const char *text, size_t length)
{
    g_autofree char *copy = g_strndup(text, length);
    char *valid = g_utf8_make_valid(copy, -1);
    for (char *c = valid; *c; c++)
        if (*c == '\t' || g_ascii_iscntrl(*c))
            *c = ' ';
    return valid;
}

char *rh_json_render(const RhJson *doc, size_t offset, size_t span, const char *message,
                     const char *help)
{
    size_t line, start, end;
    line_of(doc, offset, &line, &start, &end);
    size_t column = (size_t)g_utf8_strlen(doc->text + start, (gssize)(offset - start));
    g_autofree char *number = g_strdup_printf("%zu", line);
    int gutter = (int)strlen(number);
    GString *out = g_string_new(message);
    g_string_append_printf(out, "\n%*s--> %s:%zu:%zu", gutter, "", doc->name, line, column + 1);
    if (column < LINE_MAX_SHOWN) {
        g_autofree char *shown = printable(doc->text + start, MIN(end - start, LINE_MAX_SHOWN));
        size_t carets =
            CLAMP(MIN(span, end > offset ? end - offset : 1), 1, LINE_MAX_SHOWN - column);
        g_string_append_printf(out, "\n%*s |\n%s | %s\n%*s | %*s", gutter, "", number, shown,
                               gutter, "", (int)column, "");
        for (size_t i = 0; i < carets; i++)
            g_string_append_c(out, '^');
    }
    if (help)
        g_string_append_printf(out, "\n%*s = help: %s", gutter, "", help);
    return g_string_free(out, FALSE);
}

static void add(RhJson *doc, const RhJsonNode *node, bool at_key, const char *help, char *message)
{
    RhJsonProblem *p = g_new0(RhJsonProblem, 1);
    *p = (RhJsonProblem){node ? node : doc->root, at_key, message, g_strdup(help)};
    g_ptr_array_add(doc->problems, p);
}

void rh_json_problem(RhJson *doc, const RhJsonNode *node, const char *help, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(doc, node, false, help, g_strdup_vprintf(format, args));
    va_end(args);
}

/* Keys that nobody asked for. */
static void find_leftovers(RhJson *doc, const cJSON *node, const char *path)
{
    for (const cJSON *child = node->child; child; child = child->next) {
        g_autofree char *inner = child->string && *path
                                     ? g_strdup_printf("%s.%s", path, child->string)
                                     : g_strdup(child->string ? child->string : path);
        if (cJSON_IsObject(node) && !g_hash_table_contains(doc->consumed, child)) {
            const char *near =
                rh_nearest_name(child->string, (const char *const *)doc->known->pdata);
            g_autofree char *help =
                near ? g_strdup_printf("a key with a similar name exists: \"%s\"", near) : NULL;
            add(doc, child, true, help,
                g_strdup_printf("unknown key \"%s\"%s%s", child->string, *path ? " in " : "",
                                path));
            continue;
        }
        if (!g_hash_table_contains(doc->consumed, child) || child->child)
            find_leftovers(doc, child, inner);
    }
}

/* In the order of the text, whatever order they were found in. */
static gint by_position(const void *a, const void *b, void *user)
{
    const RhJson *doc = user;
    const RhJsonProblem *x = *(RhJsonProblem *const *)a, *y = *(RhJsonProblem *const *)b;
    size_t ox, oy, span;
    rh_json_locate(doc, x->node, x->at_key, &ox, &span);
    rh_json_locate(doc, y->node, y->at_key, &oy, &span);
    return (ox > oy) - (ox < oy);
}

bool rh_json_finish(RhJson *doc, GError **error)
{
    g_ptr_array_add(doc->known, NULL);
    if (cJSON_IsObject(doc->root) || cJSON_IsArray(doc->root))
        find_leftovers(doc, doc->root, "");
    g_ptr_array_set_size(doc->known, (gint)doc->known->len - 1);
    if (doc->problems->len == 0)
        return true;
    guint shown = MIN(doc->problems->len, PROBLEMS_MAX);
    if (doc->problems->len <= 1000)
        g_ptr_array_sort_with_data(doc->problems, by_position, doc);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < shown; i++) {
        const RhJsonProblem *p = doc->problems->pdata[i];
        size_t offset, span;
        rh_json_locate(doc, p->node, p->at_key, &offset, &span);
        g_autofree char *one = rh_json_render(doc, offset, span, p->message, p->help);
        g_string_append_printf(text, "%s%s", i ? "\nerror: " : "", one);
    }
    if (doc->problems->len > shown)
        g_string_append_printf(text, "\nnote: %u more problems in %s", doc->problems->len - shown,
                               doc->name);
    return rh_fail(error, RH_ERROR_INPUT, "%s", text->str);
}
