/* Problems of a document: collected while reading, rendered together. */
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/text/nearest_names.h"

#define PROBLEMS_SHOWN    20
#define PROBLEMS_KEPT     1000 /* the shown ones are the first of these by position */
#define MESSAGE_BYTES_MAX 1000
#define CHARS_BEFORE      60 /* of a long line, before and after the position */
#define CHARS_SHOWN       100
#define PATH_BYTES_MAX    200

/* --- one problem as text --- */

/* One-based line of an offset, and the line's bounds. */
static size_t line_of(const RhJson *doc, size_t offset, size_t *start, size_t *end)
{
    size_t line = 1;
    *start = g_str_has_prefix(doc->text, "\xef\xbb\xbf") ? 3 : 0;
    for (size_t i = *start; i < offset && i < doc->length; i++)
        if (doc->text[i] == '\n') {
            line++;
            *start = i + 1;
        }
    *end = *start + strcspn(doc->text + *start, "\r\n");
    return line;
}

/* Reads the character at text[*at] and steps over it; '?' for those that must not reach a
 * terminal. */
static gunichar next_char(const char *text, size_t *at, size_t end)
{
    gunichar c = g_utf8_get_char_validated(text + *at, (gssize)(end - *at));
    bool valid = c != (gunichar)-1 && c != (gunichar)-2;
    *at += valid ? MAX((size_t)g_unichar_to_utf8(c, NULL), 1) : 1;
    if (c == '\t')
        return ' ';
    return valid && g_unichar_isprint(c) ? c : '?';
}

static int width_of(gunichar c)
{
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

/* Appends up to CHARS_SHOWN characters from `at`, and carets below bytes [offset, offset +
 * span). */
static void append_line(GString *shown, GString *below, const char *text, size_t at, size_t end,
                        size_t offset, size_t span)
{
    bool marked = false;
    for (int i = 0; at < end && i < CHARS_SHOWN; i++) {
        bool before = at < offset, inside = !before && at - offset < span;
        gunichar c = next_char(text, &at, end);
        g_string_append_unichar(shown, c);
        for (int w = width_of(c); w > 0 && (before || inside); w--)
            g_string_append_c(below, before ? ' ' : '^');
        marked = marked || (inside && width_of(c) > 0);
    }
    if (at < end)
        g_string_append(shown, "...");
    if (!marked)
        g_string_append_c(below, '^');
}

char *rh_json_render(const RhJson *doc, size_t offset, size_t span, const char *message,
                     const char *help)
{
    size_t start, end, column = 0;
    size_t line = line_of(doc, offset, &start, &end);
    offset = MAX(offset, start);
    for (size_t at = start; at < offset; column++)
        next_char(doc->text, &at, MAX(end, offset));
    size_t from = start, skipped = 0;
    for (; skipped + CHARS_BEFORE < column && column >= CHARS_SHOWN - CHARS_BEFORE / 2; skipped++)
        next_char(doc->text, &from, end);
    g_autoptr(GString) shown = g_string_new(skipped ? "..." : "");
    g_autoptr(GString) below = g_string_new(skipped ? "   " : "");
    append_line(shown, below, doc->text, from, end, offset, span);

    g_autofree char *number = g_strdup_printf("%zu", line);
    int gutter = (int)strlen(number);
    GString *out = g_string_new(message);
    g_string_append_printf(out, "\n%*s--> %s:%zu:%zu", gutter, "", doc->name, line, column + 1);
    g_string_append_printf(out, "\n%*s |\n%s | %s\n%*s | %s", gutter, "", number, shown->str,
                           gutter, "", below->str);
    if (help)
        g_string_append_printf(out, "\n%*s = help: %s", gutter, "", help);
    return g_string_free(out, FALSE);
}

/* --- collecting --- */

/* Bounds quoted input, which may hold anything, and makes it printable. Takes `text`. */
static char *printable(char *text)
{
    g_autofree char *given = text;
    size_t length = given ? strlen(given) : 0;
    GString *out = given ? g_string_new(NULL) : NULL;
    for (size_t at = 0; at < length;) {
        if (given[at] == '\n') {
            g_string_append_c(out, given[at++]);
        } else if (at > MESSAGE_BYTES_MAX) {
            g_string_append(out, "...");
            break;
        } else {
            g_string_append_unichar(out, next_char(given, &at, length));
        }
    }
    return out ? g_string_free(out, FALSE) : NULL;
}

void rh_json_problem_free(void *data)
{
    RhJsonProblem *p = data;
    g_free(p->message);
    g_free(p->help);
    g_free(p);
}

/* Is the problem known? A value that is read twice is reported once. */
static bool is_known(const RhJson *doc, const RhJsonProblem *problem)
{
    for (guint i = 0; i < doc->problems->len; i++) {
        const RhJsonProblem *p = doc->problems->pdata[i];
        if (p->node == problem->node && p->at_key == problem->at_key &&
            g_str_equal(p->message, problem->message))
            return true;
    }
    return false;
}

static void add_problem(RhJson *doc, const RhJsonNode *node, bool at_key, const char *help,
                        const char *format, va_list args) G_GNUC_PRINTF(5, 0);
static void add_problem(RhJson *doc, const RhJsonNode *node, bool at_key, const char *help,
                        const char *format, va_list args)
{
    if (doc->problems->len >= PROBLEMS_KEPT) {
        doc->problems_count++;
        return;
    }
    RhJsonProblem *p = g_new0(RhJsonProblem, 1);
    *p = (RhJsonProblem){.node = node ? node : doc->root,
                         .at_key = at_key,
                         .message = printable(g_strdup_vprintf(format, args)),
                         .help = printable(g_strdup(help))};
    if (is_known(doc, p)) {
        rh_json_problem_free(p);
        return;
    }
    doc->problems_count++;
    g_ptr_array_add(doc->problems, p);
}

void rh_json_problem(RhJson *doc, const RhJsonNode *node, const char *help, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_problem(doc, node, false, help, format, args);
    va_end(args);
}

void rh_json_problem_of(RhJson *doc, const RhJsonNode *object, const char *key, GError *why)
{
    const RhJsonNode *member = rh_json_first(object);
    while (member && g_strcmp0(rh_json_key(member), key) != 0)
        member = rh_json_next(member);
    rh_json_problem(doc, member ? member : object, NULL, "%s: %s", key, why->message);
    g_error_free(why);
}

void rh_json_problem_at_key(RhJson *doc, const RhJsonNode *node, const char *help,
                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_problem(doc, node, true, help, format, args);
    va_end(args);
}

/* --- keys that were not read --- */

typedef struct Frame Frame;
struct Frame {
    const Frame *outer;
    const cJSON *node;
};

/* Appends the path of the innermost object, as "links.ib". */
static void append_path(GString *out, const Frame *frame)
{
    if (!frame)
        return;
    append_path(out, frame->outer);
    if (frame->node->string && out->len < PATH_BYTES_MAX)
        g_string_append_printf(out, "%s%.*s", out->len ? "." : "", PATH_BYTES_MAX,
                               frame->node->string);
}

static void unknown_key(RhJson *doc, const cJSON *member, const Frame *frame)
{
    g_autofree char *help = NULL;
    g_autoptr(GString) path = g_string_new(NULL);
    if (doc->problems_count < PROBLEMS_KEPT) {
        const char *near = rh_near_name(member->string, (const char *const *)doc->known->pdata);
        if (near && strcmp(near, member->string) == 0)
            help = g_strdup("this key is known, but not in this place");
        else if (near)
            help = g_strdup_printf("a key with a similar name exists: \"%s\"", near);
        append_path(path, frame);
    }
    rh_json_problem_at_key(doc, member, help, "unknown key \"%.*s\"%s%s", PATH_BYTES_MAX,
                           member->string, path->len ? " in " : "", path->str);
}

static void find_leftovers(RhJson *doc, const cJSON *node, const Frame *outer)
{
    Frame frame = {.outer = outer, .node = node};
    for (const cJSON *child = node->child; child; child = child->next) {
        if (cJSON_IsObject(node) && !g_hash_table_contains(doc->consumed, child))
            unknown_key(doc, child, &frame);
        else
            find_leftovers(doc, child, &frame);
    }
}

/* --- all problems --- */

guint rh_json_problems_count(const RhJson *doc)
{
    return doc->problems_count;
}

/* Orders by position in the text, whatever order they were found in. */
static gint by_position(const void *a, const void *b)
{
    const RhJsonProblem *x = *(RhJsonProblem *const *)a, *y = *(RhJsonProblem *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

bool rh_json_report(RhJson *doc, GError **error)
{
    if (doc->problems_count == 0)
        return true;
    rh_json_locate(doc, doc->problems);
    g_ptr_array_sort(doc->problems, by_position);
    guint shown = MIN(doc->problems->len, PROBLEMS_SHOWN);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < shown; i++) {
        const RhJsonProblem *p = doc->problems->pdata[i];
        g_autofree char *one = rh_json_render(doc, p->offset, p->span, p->message, p->help);
        g_string_append_printf(text, "%s%s", i ? "\nerror: " : "", one);
    }
    guint more = doc->problems_count - shown;
    if (more > 0)
        g_string_append_printf(text, "\nnote: %u more problem%s in %s", more, more == 1 ? "" : "s",
                               doc->name);
    return rh_fail(error, RH_ERROR_INPUT, "%s", text->str);
}

bool rh_json_finish(RhJson *doc, GError **error)
{
    g_ptr_array_add(doc->known, NULL);
    find_leftovers(doc, doc->root, NULL);
    g_ptr_array_set_size(doc->known, (gint)doc->known->len - 1);
    return rh_json_report(doc, error);
}

void rh_json_refuse(RhJson *doc, GError **error)
{
    bool fine = rh_json_finish(doc, error);
    g_assert(!fine);
}
