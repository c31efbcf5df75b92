#include "base/text/log_prefix_strip.h"

#include <stdbool.h>
#include <string.h>

#define PREFIXES_MOST 5    /* that follow one another */
#define SHARED_FRAC   0.85 /* of the lines with text; launchers print some lines of their own */

/* Forms of prefixes, each up to the text behind it. */
static const struct {
    const char *pattern;
    bool date;
} forms[] = {
    {"\\[?\\d{4}[-/]\\d\\d[-/]\\d\\d[T _]\\d\\d:\\d\\d:\\d\\d([.,]\\d+)?( ?(Z|UTC|[+-]\\d\\d:?\\d\\d))?\\]?:?"
     "[ \\t]",
     true},
    {"\\[?\\d\\d:\\d\\d:\\d\\d([.,]\\d+)?\\]?:?[ \\t]", true},
    {"[A-Z][a-z]{2} [ 0-9]\\d \\d\\d:\\d\\d:\\d\\d [\\w.-]+( [\\w./-]+(\\[\\d+\\])?:)? ", true},
    {"\\[\\d+,\\d+\\](<std(out|err)>)?:? ?", false},
    {"\\[(pod/|default|rank ?)?[\\w./-]*\\]:?[ \\t]", false},
    {"\\[(default|rank ?)\\d+\\]:", false},
    {"\\([\\w.-]*( ?\\w+=[\\w.:-]+,?)+\\) ?", false},
    {"\\d+: ?", false},
    {"[A-Za-z][\\w.-]*\\d[\\w.-]*: ", false},
    {"[\\w.-]+ +\\| ?", false},
};

typedef struct {
    char *text;    /* the copy, whose prefixes are blanked */
    GArray *lines; /* char *: where each line with text goes on */
} Log;

static char *line_end(char *at)
{
    return at + strcspn(at, "\n");
}

/* Lists the lines with text, each from its first letter on. */
static void list_lines(Log *log)
{
    for (char *at = log->text; *at;) {
        char *end = line_end(at), *start = at + strspn(at, " \t\r");
        if (start < end)
            g_array_append_val(log->lines, start);
        at = *end ? end + 1 : end;
    }
}

/* Length of the prefix of this form at the beginning of a line; 0: it has none. */
static int prefix_length(const GRegex *form, const char *line)
{
    g_autoptr(GMatchInfo) match = NULL;
    int from = 0, to = 0;
    if (!g_regex_match_full(form, line, (gssize)strcspn(line, "\n"), 0, G_REGEX_MATCH_ANCHORED,
                            &match, NULL) ||
        !g_match_info_fetch_pos(match, 0, &from, &to))
        return 0;
    return to;
}

/* Blanks the prefixes of one form where nearly all lines have one. */
static bool blank_form(Log *log, const GRegex *form)
{
    g_autofree int *lengths = g_new0(int, log->lines->len + 1);
    guint shared = 0, left = 0; /* lines with this prefix, with text that is left */
    for (guint i = 0; i < log->lines->len; i++) {
        const char *line = g_array_index(log->lines, char *, i);
        lengths[i] = prefix_length(form, line);
        shared += lengths[i] > 0;
        left += strcspn(line, "\r\n") > 0;
    }
    if (shared < 2 || shared < SHARED_FRAC * left)
        return false;
    for (guint i = 0; i < log->lines->len; i++) {
        char **line = &g_array_index(log->lines, char *, i);
        memset(*line, ' ', (size_t)lengths[i]);
        *line += strspn(*line, " \t");
    }
    return true;
}

char *rh_log_without_prefixes(const char *text, gboolean dates)
{
    Log log = {g_strdup(text), g_array_new(FALSE, FALSE, sizeof(char *))};
    list_lines(&log);
    bool found = true;
    for (int round = 0; found && round < PREFIXES_MOST; round++) {
        found = false;
        for (size_t i = 0; !found && i < G_N_ELEMENTS(forms); i++) {
            g_autoptr(GRegex) form =
                g_regex_new(forms[i].pattern, G_REGEX_OPTIMIZE | G_REGEX_RAW, 0, NULL);
            found = !(dates && forms[i].date) && form && blank_form(&log, form);
        }
    }
    g_array_unref(log.lines);
    return log.text;
}
