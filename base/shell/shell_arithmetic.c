/* Whole-number arithmetic and tests of shell scripts. */
#include <fnmatch.h>
#include <string.h>

#include "base/shell/shell_private.h"

#define DEPTH_MAX 64

/* --- arithmetic --- */

typedef struct {
    const RhShellState *s;
    const char *at;
    int depth;
    bool fine;
} Sum;

static int64_t sum_of(Sum *a);

static void skip_blanks(Sum *a)
{
    a->at += strspn(a->at, " \t\r\n");
}

/* Reads a variable's value, which must be a whole number; without "$" or braces, too. */
static int64_t read_name(Sum *a)
{
    a->at += *a->at == '$';
    bool braces = *a->at == '{';
    a->at += braces;
    g_autofree char *name = g_strndup(a->at, strspn(a->at, RH_SHELL_NAME));
    a->at += strlen(name);
    bool whole = true;
    g_autofree char *text = rh_shell_value(a->s, name, &whole);
    const char *otherwise = NULL;
    if (braces && g_str_has_prefix(a->at, ":-")) {
        otherwise = a->at + 2;
        a->at += strcspn(a->at, "}");
    }
    const char *from = text && *text ? text : otherwise;
    char *end = NULL;
    int64_t value = from ? g_ascii_strtoll(from, &end, 10) : 0;
    a->fine = a->fine && from && whole && end != from && (!*end || *end == '}') &&
              (!braces || *a->at == '}');
    a->at += braces && *a->at == '}';
    return value;
}

static int64_t read_factor(Sum *a)
{
    skip_blanks(a);
    if (++a->depth > DEPTH_MAX || !*a->at) {
        a->fine = false;
        return 0;
    }
    int64_t value = 0;
    if (*a->at == '(') {
        a->at++;
        value = sum_of(a);
        skip_blanks(a);
        a->fine = a->fine && *a->at == ')';
        a->at += *a->at == ')';
    } else if (*a->at == '-') {
        a->at++;
        value = read_factor(a);
        a->fine = a->fine && !__builtin_sub_overflow((int64_t)0, value, &value);
    } else if (g_ascii_isdigit(*a->at)) {
        char *end = NULL;
        value = g_ascii_strtoll(a->at, &end, 10);
        a->at = end;
    } else if (*a->at == '$' || g_ascii_isalpha(*a->at) || *a->at == '_') {
        value = read_name(a);
    } else {
        a->fine = false;
    }
    a->depth--;
    return value;
}

static int64_t read_product(Sum *a)
{
    int64_t value = read_factor(a);
    for (skip_blanks(a); a->fine && *a->at && strchr("*/%", *a->at); skip_blanks(a)) {
        char sign = *a->at++;
        int64_t other = read_factor(a);
        if (sign == '*')
            a->fine = a->fine && !__builtin_mul_overflow(value, other, &value);
        else if (other <= 0)
            a->fine = false;
        else
            value = sign == '/' ? value / other : value % other;
    }
    return value;
}

static int64_t sum_of(Sum *a)
{
    int64_t value = read_product(a);
    for (skip_blanks(a); a->fine && (*a->at == '+' || *a->at == '-'); skip_blanks(a)) {
        bool plus = *a->at++ == '+';
        int64_t other = read_product(a);
        a->fine = a->fine && !(plus ? __builtin_add_overflow(value, other, &value)
                                    : __builtin_sub_overflow(value, other, &value));
    }
    return value;
}

bool rh_shell_arithmetic(const RhShellState *s, const char *text, int64_t *value)
{
    Sum a = {s, text, 0, true};
    *value = sum_of(&a);
    return a.fine && !*a.at;
}

/* --- tests --- */

typedef struct {
    RhShellWord *const *words;
    guint count;
} Test;

static RhTruth truth(bool yes)
{
    return yes ? RH_TRUTH_YES : RH_TRUTH_NO;
}

static RhTruth not(RhTruth t)
{
    return t == RH_TRUTH_UNKNOWN ? t : truth(t == RH_TRUTH_NO);
}

/* Is the word a variable that the script does not set, and nothing else? Its environment is taken
 * to leave it empty. */
static bool is_unset(const RhShellWord *word)
{
    const char *name = word->text + 1 + (word->text[1] == '{');
    size_t length = strspn(name, RH_SHELL_NAME);
    return !word->whole && word->text[0] == '$' && length > 0 && strcspn(name, "}") == length &&
           strlen(name + length) <= 1;
}

static RhTruth test_one(const RhShellWord *sign, const RhShellWord *word)
{
    bool known = word->whole || is_unset(word), full = word->whole && *word->text;
    if (strcmp(sign->text, "-z") == 0 || strcmp(sign->text, "-n") == 0)
        return known ? truth(full == (sign->text[1] == 'n')) : RH_TRUTH_UNKNOWN;
    return RH_TRUTH_UNKNOWN; /* files are not looked at */
}

static RhTruth test_numbers(const char *sign, const RhShellWord *a, const RhShellWord *b)
{
    static const char *const signs[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    char *end_a = NULL, *end_b = NULL;
    int64_t x = g_ascii_strtoll(a->text, &end_a, 10), y = g_ascii_strtoll(b->text, &end_b, 10);
    bool numbers = end_a != a->text && !*end_a && end_b != b->text && !*end_b;
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (size_t i = 0; numbers && i < G_N_ELEMENTS(signs); i++)
        if (strcmp(signs[i], sign) == 0)
            return truth(holds[i]);
    return RH_TRUTH_UNKNOWN;
}

static RhTruth test_two(const RhShellWord *a, const char *sign, const RhShellWord *b)
{
    bool known = (a->whole || is_unset(a)) && b->whole;
    const char *left = a->whole ? a->text : "";
    if (!known)
        return RH_TRUTH_UNKNOWN;
    if (strcmp(sign, "=") == 0 || strcmp(sign, "==") == 0)
        return truth(fnmatch(b->text, left, 0) == 0);
    if (strcmp(sign, "!=") == 0)
        return truth(fnmatch(b->text, left, 0) != 0);
    return a->whole ? test_numbers(sign, a, b) : RH_TRUTH_UNKNOWN;
}

static RhTruth test_simple(Test t)
{
    bool negated = false;
    while (t.count > 0 && strcmp(t.words[0]->text, "!") == 0) {
        negated = !negated;
        t = (Test){t.words + 1, t.count - 1};
    }
    RhTruth says = t.count == 1   ? (t.words[0]->whole      ? truth(*t.words[0]->text)
                                     : is_unset(t.words[0]) ? RH_TRUTH_NO
                                                            : RH_TRUTH_UNKNOWN)
                   : t.count == 2 ? test_one(t.words[0], t.words[1])
                   : t.count == 3 ? test_two(t.words[0], t.words[1]->text, t.words[2])
                                  : RH_TRUTH_UNKNOWN;
    return negated ? not(says) : says;
}

static RhTruth both(RhTruth a, RhTruth b)
{
    return a == RH_TRUTH_NO || b == RH_TRUTH_NO             ? RH_TRUTH_NO
           : a == RH_TRUTH_UNKNOWN || b == RH_TRUTH_UNKNOWN ? RH_TRUTH_UNKNOWN
                                                            : RH_TRUTH_YES;
}

/* Reads simple tests joined by && and ||, without brackets, from the left. */
static RhTruth test_joined(Test t)
{
    RhTruth says = RH_TRUTH_UNKNOWN;
    bool first = true, and = true;
    for (guint from = 0, to; from <= t.count; from = to + 1) {
        for (to = from;
             to < t.count && strcmp(t.words[to]->text, "&&") != 0 &&
             strcmp(t.words[to]->text, "||") != 0 && strcmp(t.words[to]->text, "-a") != 0 &&
             strcmp(t.words[to]->text, "-o") != 0;
             to++)
            ;
        RhTruth next = test_simple((Test){t.words + from, to - from});
        says = first ? next : and? both(says, next) : not(both(not(says), not(next)));
        first = false;
        and = to < t.count &&
              (strcmp(t.words[to]->text, "&&") == 0 || strcmp(t.words[to]->text, "-a") == 0);
    }
    return says;
}

RhTruth rh_shell_test(const GPtrArray *words)
{
    const RhShellWord *first = words->len > 0 ? words->pdata[0] : NULL;
    if (!first)
        return RH_TRUTH_UNKNOWN;
    if (strcmp(first->text, "true") == 0 || strcmp(first->text, "false") == 0)
        return truth(first->text[0] == 't');
    bool bracket = strcmp(first->text, "[") == 0 || strcmp(first->text, "[[") == 0;
    if (!bracket && strcmp(first->text, "test") != 0)
        return RH_TRUTH_UNKNOWN;
    guint end = words->len - (bracket && words->len > 1);
    return test_joined((Test){(RhShellWord *const *)words->pdata + 1, end - 1});
}
