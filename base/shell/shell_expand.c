/* Expansion of shell words: quotes, variables, arrays, defaults, arithmetic. */
#include <string.h>

#include "base/error.h"
#include "base/shell/shell_private.h"

#define BYTES_MAX (8u * 1024 * 1024)
#define DEPTH_MAX 32
#define WORD_COST 64 /* bytes that a word of none takes */

RhShellWord *rh_shell_word_new(char *text, size_t offset, size_t span, bool whole)
{
    RhShellWord *word = g_new(RhShellWord, 1);
    *word = (RhShellWord){text, offset, span, whole};
    return word;
}

void rh_shell_word_free(void *data)
{
    RhShellWord *word = data;
    g_free(word->text);
    g_free(word);
}

GPtrArray *rh_shell_words_new(void)
{
    return g_ptr_array_new_with_free_func(rh_shell_word_free);
}

/* --- where a word ends --- */

static size_t span_of_brackets(const char *text, int depth);

/* Returns the length of a quoted part, both quotes included; 0: it is never closed. */
static size_t span_of_quotes(const char *text, int depth)
{
    char quote = *text;
    const char *c = text + 1;
    for (size_t step; *c && *c != quote; c += step) {
        bool bracket = quote == '"' && *c == '$' && (c[1] == '(' || c[1] == '{');
        size_t inside = bracket ? span_of_brackets(c + 1, depth + 1) : 0;
        if (bracket && inside == 0)
            return 0;
        step = quote != '\'' && *c == '\\' && c[1] ? 2 : 1 + inside;
    }
    return *c ? (size_t)(c - text) + 1 : 0;
}

/* Returns the length of "(...)" or "{...}" behind a "$"; 0: it is never closed, or too deep. */
static size_t span_of_brackets(const char *text, int depth)
{
    char open = *text, close = open == '(' ? ')' : '}';
    int levels = 0;
    size_t step;
    for (const char *c = text; *c && depth < DEPTH_MAX; c += step) {
        step = 1;
        if (*c == '\\' && c[1]) {
            step = 2;
        } else if (*c == '\'' || *c == '"' || *c == '`') {
            step = span_of_quotes(c, depth + 1);
            if (step == 0)
                return 0;
        } else {
            levels += *c == open;
            levels -= *c == close;
            if (levels == 0)
                return (size_t)(c - text) + 1;
        }
    }
    return 0;
}

size_t rh_shell_span(const char *text, const char *ends, char *open)
{
    const char *c = text;
    while (*c && !strchr(ends, *c)) {
        size_t step = 1;
        bool bracket = *c == '$' && (c[1] == '(' || c[1] == '{');
        if (*c == '\\' && c[1])
            step = c[1] == '\r' && c[2] == '\n' ? 3 : 2;
        else if (*c == '\'' || *c == '"' || *c == '`')
            step = span_of_quotes(c, 0);
        else if (bracket)
            step = span_of_brackets(c + 1, 0);
        if (step == 0) {
            *open = bracket ? c[1] : *c;
            return (size_t)(c - text);
        }
        c += step + bracket;
    }
    return (size_t)(c - text);
}

/* --- words in the making --- */

typedef struct {
    RhShellState *s;
    GPtrArray *words; /* finished ones; NULL: nothing is split */
    GString *text;    /* of the word in the making */
    bool begun, whole;
    size_t offset, span; /* of the raw word */
} Maker;

static bool take_room(RhShellState *s, size_t bytes, size_t offset)
{
    s->bytes += bytes;
    return s->bytes <= BYTES_MAX ||
           rh_shell_fail(s->shell, offset, 1, "the words of this script grow past 8 MiB", NULL,
                         s->error);
}

static bool add_text(Maker *m, const char *text, size_t length)
{
    g_string_append_len(m->text, text, (gssize)length);
    m->begun = true;
    return take_room(m->s, length, m->offset);
}

static bool end_word(Maker *m)
{
    if (!m->begun || !m->words)
        return true;
    g_ptr_array_add(m->words, rh_shell_word_new(g_strndup(m->text->str, m->text->len), m->offset,
                                                m->span, m->whole));
    g_string_truncate(m->text, 0);
    m->begun = false;
    m->whole = true;
    return take_room(m->s, WORD_COST, m->offset);
}

/* Adds a value without quotes around it, which blanks split into words. */
static bool add_split(Maker *m, const char *text)
{
    while (*text) {
        size_t blanks = strspn(text, " \t\r\n");
        if (blanks > 0 && !end_word(m))
            return false;
        text += blanks;
        size_t length = strcspn(text, " \t\r\n");
        if (length > 0 && !add_text(m, text, length))
            return false;
        text += length;
    }
    return true;
}

static bool add_value(Maker *m, const char *text, bool quoted)
{
    return quoted || !m->words ? add_text(m, text, strlen(text)) : add_split(m, text);
}

/* Adds what cannot be known as it is written. */
static bool add_unknown(Maker *m, const char *raw, size_t length)
{
    m->whole = false;
    return add_text(m, raw, length);
}

/* Adds the elements of an array, each a word with the place where it was written. */
static bool add_elements(Maker *m, const GPtrArray *elements, bool quoted)
{
    for (guint i = 0; i < elements->len; i++) {
        const RhShellWord *e = elements->pdata[i];
        if (i > 0 && !m->words && !add_text(m, " ", 1))
            return false;
        if (i > 0 && m->words && !end_word(m))
            return false;
        if (!m->begun && m->words) {
            m->offset = e->offset;
            m->span = e->span;
        }
        m->whole = m->whole && e->whole;
        if (!add_value(m, e->text, quoted))
            return false;
    }
    return true;
}

/* --- variables --- */

char *rh_shell_value(const RhShellState *s, const char *name, bool *whole)
{
    const GPtrArray *elements = g_hash_table_lookup(s->values, name);
    if (!elements)
        return NULL;
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < elements->len; i++) {
        const RhShellWord *e = elements->pdata[i];
        g_string_append_printf(out, "%s%s", i > 0 ? " " : "", e->text);
        *whole = *whole && e->whole;
    }
    return g_string_free(out, FALSE);
}

static bool expand_into(Maker *m, const char *raw, size_t length, bool quoted);

/* Adds the word behind ":-" of a variable that is not set. */
static bool add_default(Maker *m, const char *raw, size_t length, bool quoted)
{
    if (++m->s->depth > DEPTH_MAX)
        return rh_shell_fail(m->s->shell, m->offset, m->span, "defaults nested deeper than 32",
                             NULL, m->s->error);
    bool fine = expand_into(m, raw, length, quoted);
    m->s->depth--;
    return fine;
}

/* Stores the default of "${NAME:=word}". */
static bool store_default(Maker *m, const char *name, const char *raw)
{
    bool whole = true;
    char *text = rh_shell_expand_text(m->s, raw, m->offset, false, &whole);
    if (!text)
        return false;
    GPtrArray *one = rh_shell_words_new();
    g_ptr_array_add(one, rh_shell_word_new(text, m->offset, m->span, whole));
    g_hash_table_replace(m->s->values, g_strdup(name), one);
    return true;
}

/* Adds "${...}" that has more than a name in it. `rest` is what stands behind the name. */
static bool add_formed(Maker *m, const char *name, const char *rest, const char *raw, size_t length,
                       bool quoted)
{
    const GPtrArray *elements = g_hash_table_lookup(m->s->values, name);
    const RhShellWord *first = elements && elements->len > 0 ? elements->pdata[0] : NULL;
    if (g_str_has_prefix(rest, "[@]") || g_str_has_prefix(rest, "[*]")) {
        rest += 3;
        if (rest == raw + length - 1) /* an array that is not set has no words */
            return !elements || add_elements(m, elements, quoted);
    }
    bool colon = *rest == ':' && rest[1] && strchr("-=+?", rest[1]);
    char kind = colon ? rest[1] : *rest;
    const char *word = rest + (colon ? 2 : 1);
    bool set = first && !(colon && !*first->text);
    size_t room = (size_t)(raw + length - 1 - word);
    if (kind == '+')
        return !set || add_default(m, word, room, quoted);
    if ((kind != '-' && kind != '=' && kind != '?') || (kind == '?' && !set))
        return add_unknown(m, raw, length);
    if (set) {
        m->whole = m->whole && first->whole;
        return add_elements(m, elements, quoted);
    }
    if (kind == '=') {
        g_autofree char *copy = g_strndup(word, room);
        if (!store_default(m, name, copy))
            return false;
    }
    return add_default(m, word, room, quoted);
}

/* Adds the variable or arithmetic whose "$" is at `raw`; *length: what it took of the text. */
static bool add_variable(Maker *m, const char *raw, size_t *length, bool quoted)
{
    int64_t number = 0;
    bool braces = raw[1] == '{';
    if (g_str_has_prefix(raw, "$((")) {
        *length = 1 + span_of_brackets(raw + 1, 0);
        g_autofree char *inside = *length > 5 ? g_strndup(raw + 3, *length - 5) : NULL;
        if (!inside || !rh_shell_arithmetic(m->s, inside, &number))
            return add_unknown(m, raw, MAX(*length, 1));
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);
        return add_text(m, text, strlen(text));
    }
    if (raw[1] == '(' || braces)
        *length = 1 + span_of_brackets(raw + 1, 0);
    else
        *length = 1 + (g_ascii_isdigit(raw[1]) || (raw[1] && strchr("@*#?$!-", raw[1]))
                           ? 1
                           : strspn(raw + 1, RH_SHELL_NAME));
    if (*length <= 1 || raw[1] == '(') {
        *length = MAX(*length, 1);
        return *length == 1 ? add_text(m, raw, 1) : add_unknown(m, raw, *length);
    }
    const char *start = raw + 1 + braces;
    g_autofree char *name = g_strndup(start, strspn(start, RH_SHELL_NAME));
    if (braces && strlen(name) + 3 < *length)
        return *name ? add_formed(m, name, start + strlen(name), raw, *length, quoted)
                     : add_unknown(m, raw, *length);
    const GPtrArray *elements = g_hash_table_lookup(m->s->values, name);
    return elements ? add_elements(m, elements, quoted) : add_unknown(m, raw, *length);
}

/* --- raw text --- */

/* Adds a part in double quotes, or the body of a here-document. */
static bool expand_quoted(Maker *m, const char *raw, size_t length)
{
    const char *end = raw + length;
    bool array = g_str_has_prefix(raw, "${") && length > 6 && g_str_has_prefix(end - 4, "[@]}");
    m->begun = m->begun || !array; /* of no elements there is no word */
    for (size_t step; raw < end; raw += MIN(step, (size_t)(end - raw))) {
        step = 1;
        if (*raw == '\\' && raw + 1 < end && strchr("$`\"\\\n", raw[1])) {
            step = 2;
            if (raw[1] != '\n' && !add_text(m, raw + 1, 1))
                return false;
        } else if (*raw == '$') {
            if (!add_variable(m, raw, &step, true))
                return false;
        } else if (*raw == '`') {
            step = MAX(span_of_quotes(raw, 0), 1);
            if (!add_unknown(m, raw, step))
                return false;
        } else if (!add_text(m, raw, 1)) {
            return false;
        }
    }
    return true;
}

static bool expand_into(Maker *m, const char *raw, size_t length, bool quoted)
{
    if (quoted)
        return expand_quoted(m, raw, length);
    const char *end = raw + length;
    for (size_t step; raw < end; raw += MIN(step, (size_t)(end - raw))) {
        bool fine = true;
        step = 1;
        bool dollar_quote = *raw == '$' && (raw[1] == '\'' || raw[1] == '"');
        const char *part = raw + dollar_quote;
        size_t closed = *part == '\'' || *part == '"' || *part == '`' ? span_of_quotes(part, 0) : 0;
        if (*raw == '\\' && raw + 1 < end) {
            bool returns = raw[1] == '\r' && raw[2] == '\n';
            step = returns ? 3 : 2;
            fine = returns || raw[1] == '\n' || add_text(m, raw + 1, 1);
        } else if (*part == '\'' && closed > 0) {
            fine = add_text(m, part + 1, closed - 2);
        } else if (*part == '"' && closed > 0) {
            fine = expand_quoted(m, part + 1, closed - 2);
        } else if (*part == '`' && closed > 0) {
            fine = add_unknown(m, part, closed);
        } else if (*raw == '$') {
            fine = add_variable(m, raw, &step, false);
        } else {
            fine = add_text(m, raw, 1);
        }
        if (closed > 0)
            step = closed + dollar_quote;
        if (!fine)
            return false;
    }
    return true;
}

bool rh_shell_expand(RhShellState *s, size_t offset, size_t span, GPtrArray *words)
{
    g_autoptr(GString) text = g_string_new(NULL);
    Maker m = {s, words, text, false, true, offset, span};
    return expand_into(&m, s->shell->text + offset, span, false) && end_word(&m);
}

char *rh_shell_expand_text(RhShellState *s, const char *raw, size_t offset, bool quoted,
                           bool *whole)
{
    g_autoptr(GString) text = g_string_new(NULL);
    Maker m = {s, NULL, text, false, true, offset, 1};
    if (!expand_into(&m, raw, strlen(raw), quoted))
        return NULL;
    *whole = *whole && m.whole;
    return g_string_free(g_steal_pointer(&text), FALSE);
}
