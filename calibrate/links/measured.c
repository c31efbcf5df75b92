#include "calibrate/links/measured_format.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/intern.h"

static const RhMeasuredFormat *const formats[] = {&rh_format_nccl_tests, &rh_format_tables,
                                                  &rh_format_osu, &rh_format_nvbandwidth};

/* --- lines --- */

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
    g_autofree char *what = g_strdup_printf("is no number from %g to %g\nhelp: correct the line, "
                                            "or delete it",
                                            low, high);
    return rh_line_fail(line, word, what, error);
}

bool rh_line_is_whole(const RhLine *line, int32_t word)
{
    const char *text = rh_line_word(line, word);
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
}

/* --- files --- */

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

static const RhMeasuredFormat *format_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i]->begins(text))
            return formats[i];
    return NULL;
}

bool rh_measured_begins(const char *text)
{
    return format_of(text) != NULL;
}

RhMeasured *rh_measured_parse(const char *name, const char *text, GError **error)
{
    const RhMeasuredFormat *format = format_of(text);
    g_autoptr(RhMeasured) out = g_new0(RhMeasured, 1);
    out->name = g_strdup(name);
    out->device = out->library = rh_intern("");
    out->rows = g_array_new(FALSE, FALSE, sizeof(RhTimed));
    out->rates = g_array_new(FALSE, FALSE, sizeof(RhRate));
    out->notes = g_ptr_array_new_with_free_func(g_free);
    if (!format) {
        rh_fail(error, RH_ERROR_INPUT, "%s:1:1: no log of a benchmark that is known", name);
        return NULL;
    }
    out->format = format->name;
    return format->read(out, text, error) ? g_steal_pointer(&out) : NULL;
}

RhMeasured *rh_measured_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_measured_parse(path, text, error) : NULL;
}

void rh_measured_free(RhMeasured *measured)
{
    if (!measured)
        return;
    g_free(measured->name);
    g_array_unref(measured->rows);
    g_array_unref(measured->rates);
    g_ptr_array_unref(measured->notes);
    g_free(measured);
}

char *rh_timed_class(const RhTimed *row)
{
    return g_strdup_printf("%s of %d rank%s on %d node%s",
                           row->message ? "message" : rh_op_name(row->op), row->ranks,
                           row->ranks == 1 ? "" : "s", row->nodes, row->nodes == 1 ? "" : "s");
}
