#include "base/error.h"

#include <stdarg.h>
#include <string.h>

GQuark rh_error_quark(void)
{
    return g_quark_from_static_string("rehearse-error");
}

bool rh_fail(GError **error, RhErrorCode code, const char *format, ...)
{
    if (!error)
        return false;
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    /* What the user typed may be quoted in it, and need not be UTF-8. */
    g_autofree char *valid = g_utf8_make_valid(message, -1);
    g_set_error_literal(error, RH_ERROR, (gint)code, valid);
    return false;
}

/* `line` goes in at a byte of the message. */
static void insert_line(GError *error, size_t at, const char *word, const char *line)
{
    g_autofree char *head = g_strndup(error->message, at);
    g_autofree char *message = g_strconcat(head, "\n", word, ": ", line, error->message + at, NULL);
    g_free(error->message);
    error->message = g_utf8_make_valid(message, -1);
}

void rh_error_help(GError **error, const char *format, ...)
{
    if (!error || !*error)
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *help = g_strdup_vprintf(format, args);
    va_end(args);
    insert_line(*error, strlen((*error)->message), "help", help);
}

void rh_error_note(GError **error, const char *format, ...)
{
    if (!error || !*error)
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *note = g_strdup_vprintf(format, args);
    va_end(args);
    const char *message = (*error)->message, *help = strstr(message, "\nhelp: ");
    insert_line(*error, help ? (size_t)(help - message) : strlen(message), "note", note);
}

/* Optimal string alignment. */
int rh_name_edits(const char *a, const char *b)
{
    int rows[3][RH_NAME_MAX + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    size_t la = strlen(a), lb = strlen(b);
    if (la > RH_NAME_MAX || lb > RH_NAME_MAX)
        return G_MAXINT;
    for (size_t j = 0; j <= lb; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);
            row[j] = MIN(MIN(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) && y == g_ascii_tolower(a[i - 2]))
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[lb];
}

/* The shortest name that has `word` between its dashes and dots, as "dgx-h100" has "h100"; NULL: none. */
static const char *name_with_part(const char *word, const char *const *names)
{
    const char *best = NULL;
    for (int i = 0; names[i]; i++) {
        g_auto(GStrv) parts = g_strsplit_set(names[i], "-._", -1);
        if (g_strv_contains((const char *const *)parts, word) &&
            (!best || strlen(names[i]) < strlen(best)))
            best = names[i];
    }
    return best;
}

const char *rh_nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t length = strlen(word);
    int least = MAX(1, (int)MIN(length, RH_NAME_MAX) / 3) + 1;
    for (int i = 0; names[i]; i++) {
        int distance = rh_name_edits(word, names[i]);
        /* With every letter changed it is another word. */
        if (distance < least && (size_t)distance < MAX(length, strlen(names[i]))) {
            least = distance;
            best = names[i];
        }
    }
    return best ? best : name_with_part(word, names);
}

bool rh_fail_unknown(GError **error, const char *noun, const char *name, const char *const *names)
{
    const char *near = rh_nearest_name(name, names);
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    g_autofree char *help =
        near ? g_strdup_printf("\nhelp: a %s with a similar name exists: %s", noun, near) : NULL;
    return rh_fail(error, RH_ERROR_USAGE, "there is no %s \"%s\"\nnote: %ss: %s%s", noun, name,
                   noun, list, help ? help : "");
}
