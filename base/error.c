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
    g_set_error_literal(error, RH_ERROR, (gint)code, message);
    return false;
}

/* Levenshtein distance over bytes; words longer than this never count as near. */
#define WORD_MAX 63

static int edit_distance(const char *a, const char *b)
{
    int row[WORD_MAX + 1];
    int la = (int)strlen(a), lb = (int)strlen(b);
    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX + 1;
    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int above = row[j];
            int change = diagonal + (g_ascii_tolower(a[i - 1]) != g_ascii_tolower(b[j - 1]));
            row[j] = MIN(MIN(above + 1, row[j - 1] + 1), change);
            diagonal = above;
        }
    }
    return row[lb];
}

const char *rh_nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    int limit = MAX(1, (int)strlen(word) / 3), least = limit + 1;
    for (int i = 0; names[i]; i++) {
        int distance = edit_distance(word, names[i]);
        if (distance < least) {
            least = distance;
            best = names[i];
        }
    }
    return best;
}
