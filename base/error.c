#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/text/nearest_names.h"

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
    /* the message may quote user input that is not UTF-8 */
    g_autofree char *valid = g_utf8_make_valid(message, -1);
    g_set_error_literal(error, RH_ERROR, (gint)code, valid);
    return false;
}

/* Inserts `line` at a byte of the message. */
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

bool rh_fail_unknown(GError **error, const char *noun, const char *name, const char *const *names)
{
    const char *near = rh_near_name(name, names);
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    size_t stem = strlen(noun) - (g_str_has_suffix(noun, "y") ? 1 : 0);
    g_autofree char *help =
        near ? g_strdup_printf("\nhelp: a %s with a similar name exists: %s", noun, near) : NULL;
    return rh_fail(error, RH_ERROR_USAGE, "there is no %s \"%s\"\nnote: %.*s%s: %s%s", noun, name,
                   (int)stem, noun, noun[stem] ? "ies" : "s", list, help ? help : "");
}
