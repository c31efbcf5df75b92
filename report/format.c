#include "report/format.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define COMMAND_WIDTH 78

char *rh_text_count(int64_t count)
{
    g_autofree char *digits = g_strdup_printf("%" G_GINT64_FORMAT, count);
    GString *out = g_string_new(NULL);
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        g_string_append_c(out, digits[i]);
        size_t left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            g_string_append_c(out, ',');
    }
    return g_string_free(out, FALSE);
}

#define TEXT_WHOLE_MOST 1e15 /* from here on most digits would mean nothing */

char *rh_text_number(double value, int digits)
{
    char format[16], text[G_ASCII_DTOSTR_BUF_SIZE];
    double size = fabs(value);
    int whole = size >= 1 ? (int)floor(log10(size) + 1e-12) + 1 : 1;
    if (size > 0 && size < 1)
        whole = (int)floor(log10(size)) + 1;
    g_snprintf(format, sizeof format, "%%.%df", MAX(0, digits - whole));
    if (size != 0 && (size < 1e-4 || size >= TEXT_WHOLE_MOST))
        g_snprintf(format, sizeof format, "%%.%dg", digits);
    return g_strdup(g_ascii_formatd(text, sizeof text, format, value));
}

char *rh_text_rate(double per_s)
{
    return per_s < 99.95 ? rh_text_number(per_s, 3) : rh_text_count(llround(per_s));
}

char *rh_text_fact(const RhFact *fact, RhQuantity kind)
{
    g_autofree char *value = rh_quantity_format(fact->value, kind, 3);
    return g_strdup_printf("%s %c", value, rh_tag_letter(fact->tag));
}

static char *with_prefix(double value, const char *thousand_million)
{
    const char *prefixes[] = {"", " k", " M", thousand_million, " T", " P", " E"};
    size_t i = 0;
    for (; value >= 999.5 && i + 1 < G_N_ELEMENTS(prefixes); i++)
        value /= 1000;
    g_autofree char *number = rh_text_number(value, 3);
    return g_strconcat(number, prefixes[i], NULL);
}

char *rh_text_large(double value)
{
    return with_prefix(value, " G");
}

char *rh_text_tokens(double tokens)
{
    return with_prefix(tokens, " B");
}

char *rh_text_params(double params)
{
    static const struct {
        double from, unit; /* from: the value that rounds to 1000 of the smaller unit */
        char letter;
    } units[] = {{999.5e9, 1e12, 'T'}, {999.5e6, 1e9, 'B'}, {0, 1e6, 'M'}};
    int i = 0;
    while (params < units[i].from)
        i++;
    return g_strdup_printf("%.3g%c", params / units[i].unit, units[i].letter);
}

char *rh_text_amount(double value, const char *unit)
{
    g_autofree char *number = rh_text_large(value);
    return g_strconcat(number, strchr(number, ' ') ? "" : " ", unit, NULL);
}

/* Does a word belong to the number before it: "%", "$,", "k$"? "$DATA" does not. */
static bool is_held(const char *word)
{
    const char *sign = word + strspn(word, "kM");
    return *word == '%' || (*sign == '$' && !g_ascii_isalpha(sign[1]));
}

/* Characters of a word and of the sign that belongs to it. */
static int length_held(char *const *word)
{
    int length = (int)g_utf8_strlen(word[0], -1);
    return word[1] && is_held(word[1]) ? length + 1 + (int)g_utf8_strlen(word[1], -1) : length;
}

void rh_text_wrap(GString *out, const char *text, int indent, int width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    int column = indent;
    for (char **word = words; *word; word++) {
        int length = (int)g_utf8_strlen(*word, -1);
        if (column > indent && column + 1 + length_held(word) > width) {
            g_string_append_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (word != words) {
            g_string_append_c(out, ' ');
            column++;
        }
        g_string_append(out, *word);
        column += length;
    }
    g_string_append_c(out, '\n');
}

char *rh_text_path(const char *path)
{
    bool plain = *path && !strpbrk(path, " \t\n'\"\\$&;()<>|*?[]#~`!{}");
    return plain ? g_strdup(path) : g_shell_quote(path);
}

void rh_text_command(GString *out, const char *const *words)
{
    const char *line = strrchr(out->str, '\n');
    size_t column = line ? strlen(line + 1) : out->len;
    for (; *words; words++) {
        size_t length = strlen(*words);
        bool broken = column + 1 + length + strlen(" \\") > COMMAND_WIDTH;
        g_string_append_printf(out, "%s%s", broken ? " \\\n      " : " ", *words);
        column = broken ? strlen("      ") + length : column + 1 + length;
    }
}

char *rh_text_markdown(const char *text)
{
    GString *out = g_string_new(NULL);
    for (const char *c = text; *c; c++) {
        if (strchr("\\`*_[]<>|", *c))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *c);
    }
    return g_string_free(out, FALSE);
}
