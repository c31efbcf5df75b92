/* Lines of logs and the words in them, which the readers of single formats share. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/links/measured_private.h"

/* Returns the length of the prefix that a launcher puts before each line of a rank. */
static size_t prefix_of(const char *text)
{
    size_t ahead = strspn(text, " \t");
    const char *at = text + ahead;
    size_t digits = strspn(at, "0123456789");
    if (*at == '[') {
        size_t inside = 1 + strspn(at + 1, "0123456789,");
        if (at[inside] == ']' && inside > 1) {
            at += inside + 1;
            at += g_str_has_prefix(at, "<stdout>:") ? strlen("<stdout>:") : 0;
            return (size_t)(at - text);
        }
    }
    if (digits > 0 && at[digits] == ':' && at[digits + 1] == ' ')
        return ahead + digits + 1;
    return 0;
}

RhLine rh_line_new(const char *file, int32_t number, const char *line)
{
    size_t length = strcspn(line, "\r\n");
    RhLine out = {file, number, (int32_t)length, g_strndup(line, length),
                  g_array_new(FALSE, FALSE, sizeof(RhWord))};
    for (char *at = out.copy + prefix_of(out.copy); *at;) {
        at += strspn(at, " \t");
        size_t word_length = strcspn(at, " \t");
        if (word_length == 0)
            break;
        RhWord word = {at, (int32_t)(at - out.copy) + 1};
        g_array_append_val(out.words, word);
        at += word_length;
        if (*at)
            *at++ = 0;
    }
    return out;
}

void rh_line_clear(RhLine *line)
{
    g_clear_pointer(&line->copy, g_free);
    g_clear_pointer(&line->words, g_array_unref);
}

const char *rh_line_word(const RhLine *line, int32_t i)
{
    return i >= 0 && i < (int32_t)line->words->len ? g_array_index(line->words, RhWord, i).text
                                                   : "";
}

int32_t rh_line_find(const RhLine *line, int32_t from, const char *word)
{
    for (int32_t i = MAX(from, 0); i < (int32_t)line->words->len; i++)
        if (strcmp(rh_line_word(line, i), word) == 0)
            return i;
    return -1;
}

bool rh_line_fail(const RhLine *line, int32_t word, const char *what, GError **error)
{
    int32_t count = (int32_t)line->words->len, column = 1;
    if (word >= 0)
        column = word < count ? g_array_index(line->words, RhWord, word).column : line->length + 1;
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: \"%.40s\" %s", line->file, line->number,
                   column, rh_line_word(line, word), what);
}

bool rh_line_number(const RhLine *line, int32_t word, double low, double high, double *out,
                    GError **error)
{
    const char *text = rh_line_word(line, word);
    char *end = NULL;
    double value = g_ascii_strtod(text, &end);
    if (end != text && *end == 0 && isfinite(value) && value >= low && value <= high) {
        *out = value;
        return true;
    }
    g_autofree char *what =
        g_strdup_printf("is not a number from %g to %g\nhelp: correct the line, "
                        "or delete it",
                        low, high);
    return rh_line_fail(line, word, what, error);
}

bool rh_line_is_whole(const RhLine *line, int32_t word)
{
    const char *text = rh_line_word(line, word);
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
}

void rh_measured_note(RhMeasured *out, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_ptr_array_add(out->notes, g_strdup_vprintf(format, values));
    va_end(values);
}

void rh_measured_rate(RhMeasured *out, RhRateKind kind, double bytes_per_s, double bytes)
{
    RhRate rate = {kind, bytes_per_s, bytes};
    g_array_append_val(out->rates, rate);
}

bool rh_measured_lines(RhMeasured *out, const char *text, RhLineFunc read_line, void *reading)
{
    int32_t number = 1;
    for (const char *at = text; *at; number++) {
        g_auto(RhLine) line = rh_line_new(out->name, number, at);
        if (!read_line(reading, &line))
            return false;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return true;
}
