#include "tests/kit/condition.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef struct {
    const char *at;
    Lookup lookup;
    void *user;
    bool broken; /* the condition itself cannot be read */
} Reader;

static Value read_implication(Reader *r);

static Value of_number(double number)
{
    return (Value){.number = number};
}

static Value of_text(const char *said)
{
    char *end = NULL;
    double number = g_ascii_strtod(said, &end);
    if (*said == '\0')
        return of_number(1); /* a flag without a value */
    if (*end == '\0')
        return of_number(number);
    Value v = {.number = 1};
    g_strlcpy(v.text, said, sizeof v.text);
    return v;
}

static bool takes(Reader *r, const char *word)
{
    while (*r->at == ' ')
        r->at++;
    size_t length = strlen(word);
    bool letters = g_ascii_isalpha(word[0]);
    if (strncmp(r->at, word, length) != 0 || (letters && g_ascii_isalnum(r->at[length])))
        return false;
    r->at += length;
    return true;
}

static Value read_name(Reader *r)
{
    const char *from = r->at;
    while (g_ascii_isalnum(*r->at) || *r->at == '_' || *r->at == '.')
        r->at++;
    if (r->at == from) {
        r->broken = true;
        return of_number(0);
    }
    g_autofree char *name = g_strndup(from, (gsize)(r->at - from));
    const char *said = r->lookup(name, r->user);
    return said ? of_text(said) : of_number(0);
}

static Value read_quoted(Reader *r)
{
    const char *end = strchr(r->at, '\'');
    if (!end) {
        r->broken = true;
        return of_number(0);
    }
    g_autofree char *text = g_strndup(r->at, (gsize)(end - r->at));
    r->at = end + 1;
    Value v = {.number = 1};
    g_strlcpy(v.text, text, sizeof v.text);
    return v;
}

static Value read_atom(Reader *r)
{
    if (takes(r, "(")) {
        Value inner = read_implication(r);
        r->broken |= !takes(r, ")");
        return inner;
    }
    if (takes(r, "'"))
        return read_quoted(r);
    if (g_ascii_isdigit(*r->at)) {
        char *end = NULL;
        double number = g_ascii_strtod(r->at, &end);
        r->at = end;
        return of_number(number);
    }
    return read_name(r);
}

static Value read_product(Reader *r)
{
    Value left = read_atom(r);
    for (;;) {
        if (takes(r, "*"))
            left = of_number(left.number * read_atom(r).number);
        else if (takes(r, "/"))
            left = of_number(left.number / read_atom(r).number);
        else if (takes(r, "%")) {
            double by = read_atom(r).number;
            left = of_number(by == 0 ? 0 : fmod(left.number, by));
        } else
            return left;
    }
}

static Value read_sum(Reader *r)
{
    Value left = read_product(r);
    for (;;) {
        if (takes(r, "+"))
            left = of_number(left.number + read_product(r).number);
        else if (r->at[0] == '-' && r->at[1] != '>' && takes(r, "-"))
            left = of_number(left.number - read_product(r).number);
        else
            return left;
    }
}

static bool equal(const Value *a, const Value *b)
{
    return a->number == b->number && strcmp(a->text, b->text) == 0;
}

static Value read_comparison(Reader *r)
{
    Value a = read_sum(r);
    if (takes(r, "==")) {
        Value b = read_sum(r);
        return of_number(equal(&a, &b));
    }
    if (takes(r, "!=")) {
        Value b = read_sum(r);
        return of_number(!equal(&a, &b));
    }
    if (takes(r, "<="))
        return of_number(a.number <= read_sum(r).number);
    if (takes(r, ">="))
        return of_number(a.number >= read_sum(r).number);
    if (takes(r, "<"))
        return of_number(a.number < read_sum(r).number);
    if (takes(r, ">"))
        return of_number(a.number > read_sum(r).number);
    return a;
}

static Value read_not(Reader *r)
{
    if (takes(r, "not")) {
        Value v = read_not(r);
        return of_number(v.number == 0);
    }
    return read_comparison(r);
}

static Value read_and(Reader *r)
{
    Value left = read_not(r);
    while (takes(r, "and")) {
        Value right = read_not(r);
        left = of_number(left.number != 0 && right.number != 0);
    }
    return left;
}

static Value read_or(Reader *r)
{
    Value left = read_and(r);
    while (takes(r, "or")) {
        Value right = read_and(r);
        left = of_number(left.number != 0 || right.number != 0);
    }
    return left;
}

static Value read_implication(Reader *r)
{
    Value left = read_or(r);
    if (!takes(r, "->"))
        return left;
    Value right = read_implication(r);
    return of_number(left.number == 0 || right.number != 0);
}

Value condition_value(const char *text, Lookup lookup, void *user, bool *broken)
{
    Reader r = {text, lookup, user, false};
    Value v = read_implication(&r);
    while (*r.at == ' ')
        r.at++;
    *broken = r.broken || *r.at != '\0';
    return v;
}
