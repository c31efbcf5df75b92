/* Evaluates expressions: a recursive-descent parser that evaluates while it parses. They are short and
 * few, so nothing is compiled. */
#include "base/text/expression.h"

#include <glib.h>
#include <string.h>

/* Maximum nesting of parentheses; deeper nesting is taken as a mistake. */
#define DEPTH_MAX 32

typedef struct {
    const char *at; /* the unread rest of the text */
    const RhExpressionNames *names;
    int depth;
    char *problem; /* the first problem; NULL: none so far */
} Reader;

static int64_t read_choice(Reader *r);

static void fail(Reader *r, const char *what)
{
    if (r->problem == NULL)
        r->problem = *r->at != 0 ? g_strdup_printf("%s at \"%s\"", what, r->at)
                                 : g_strdup_printf("%s at its end", what);
}

static void skip_spaces(Reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

/* Skips `text` if it comes next; returns whether it did. */
static bool skip_token(Reader *r, const char *text)
{
    skip_spaces(r);
    bool found = g_str_has_prefix(r->at, text);
    r->at += found ? strlen(text) : 0;
    return found;
}

static void expect_token(Reader *r, const char *text)
{
    g_autofree char *what = g_strdup_printf("no \"%s\"", text);
    if (!skip_token(r, text))
        fail(r, what);
}

/* Reads the name that comes next, with its dots; empty where there is none. The caller frees. */
static char *read_name(Reader *r)
{
    skip_spaces(r);
    size_t length = 0;
    while (g_ascii_isalpha(r->at[length]) || r->at[length] == '_' ||
           (length > 0 && r->at[length] == '.') || (length > 0 && g_ascii_isdigit(r->at[length])))
        length++;
    char *name = g_strndup(r->at, length);
    r->at += length;
    return name;
}

/* --- Arithmetic that saturates at the limits of 64 bits --- */

static int64_t limit(bool positive)
{
    return positive ? G_MAXINT64 : G_MININT64;
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? limit(a > 0) : result;
}

static int64_t difference(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? limit(a >= 0) : result;
}

static int64_t product(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? limit((a > 0) == (b > 0)) : result;
}

static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? difference(0, a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* --- Expressions, from the highest precedence to the lowest --- */

static int64_t read_pair(Reader *r, bool greater)
{
    expect_token(r, "(");
    int64_t a = read_choice(r);
    expect_token(r, ",");
    int64_t b = read_choice(r);
    expect_token(r, ")");
    return greater ? MAX(a, b) : MIN(a, b);
}

static int64_t read_named(Reader *r)
{
    const char *begin = r->at;
    g_autofree char *name = read_name(r);
    if (g_str_equal(name, "min") || g_str_equal(name, "max"))
        return read_pair(r, g_str_equal(name, "max"));
    int64_t value = 0;
    if (!r->names->value(name, r->names->user, &value)) {
        r->at = begin;
        fail(r, r->names->unknown);
    }
    return value;
}

static int64_t read_number(Reader *r)
{
    int64_t number = 0;
    for (; g_ascii_isdigit(*r->at); r->at++)
        number = sum(product(number, 10), *r->at - '0');
    return number;
}

static int64_t read_operand(Reader *r)
{
    if (++r->depth > DEPTH_MAX)
        fail(r, "more than 32 levels");
    skip_spaces(r);
    int64_t value = 0;
    if (r->problem != NULL) {
        /* nothing is evaluated after a mistake */
    } else if (skip_token(r, "(")) {
        value = read_choice(r);
        expect_token(r, ")");
    } else if (skip_token(r, "!")) {
        value = !read_operand(r);
    } else if (skip_token(r, "-")) {
        value = difference(0, read_operand(r));
    } else {
        value = g_ascii_isdigit(*r->at) ? read_number(r) : read_named(r);
    }
    r->depth--;
    return value;
}

static int64_t read_product(Reader *r)
{
    int64_t value = read_operand(r);
    for (;;)
        if (skip_token(r, "*"))
            value = product(value, read_operand(r));
        else if (skip_token(r, "/"))
            value = quotient(value, read_operand(r));
        else if (skip_token(r, "%"))
            value = remainder_of(value, read_operand(r));
        else
            return value;
}

static int64_t read_sum(Reader *r)
{
    int64_t value = read_product(r);
    for (;;)
        if (skip_token(r, "+"))
            value = sum(value, read_product(r));
        else if (skip_token(r, "-"))
            value = difference(value, read_product(r));
        else
            return value;
}

static int64_t read_comparison(Reader *r)
{
    int64_t a = read_sum(r);
    return skip_token(r, "==")   ? a == read_sum(r)
           : skip_token(r, "!=") ? a != read_sum(r)
           : skip_token(r, "<=") ? a <= read_sum(r)
           : skip_token(r, ">=") ? a >= read_sum(r)
           : skip_token(r, "<")  ? a < read_sum(r)
           : skip_token(r, ">")  ? a > read_sum(r)
                                 : a;
}

static int64_t read_conjunction(Reader *r)
{
    int64_t value = read_comparison(r);
    while (skip_token(r, "&&")) {
        int64_t other = read_comparison(r);
        value = value != 0 && other != 0;
    }
    return value;
}

static int64_t read_disjunction(Reader *r)
{
    int64_t value = read_conjunction(r);
    while (skip_token(r, "||")) {
        int64_t other = read_conjunction(r);
        value = value != 0 || other != 0;
    }
    return value;
}

static int64_t read_choice(Reader *r)
{
    int64_t condition = read_disjunction(r);
    if (!skip_token(r, "?"))
        return condition;
    if (++r->depth > DEPTH_MAX) {
        fail(r, "more than 32 levels");
        return 0;
    }
    int64_t then = read_choice(r);
    expect_token(r, ":");
    int64_t otherwise = r->problem == NULL ? read_choice(r) : 0;
    r->depth--;
    return condition != 0 ? then : otherwise;
}

char *rh_expression_value(const char *text, const RhExpressionNames *names, int64_t *value)
{
    Reader r = {.at = text, .names = names};
    int64_t result = read_choice(&r);
    skip_spaces(&r);
    if (*r.at != 0)
        fail(&r, "more than an expression");
    if (r.problem == NULL)
        *value = result;
    return r.problem;
}
