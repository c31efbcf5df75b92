/* Formats what a step's time is made of: its terms, their tree, and two steps term by term. */
#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/report.h"
#include "strategies/search/rehearsals/run_metrics.h"

#define CLOCK_S         1e-12 /* less is what the clock rounds */
#define TERM_LEAST_FRAC 5e-4  /* smaller terms are printed as one */
#define EQUAL_FRAC      5e-5 /* of a step: terms of two layouts that are no further apart are equal */

static int by_size(gconstpointer x, gconstpointer y)
{
    const RhCost *p = *(const RhCost *const *)x, *q = *(const RhCost *const *)y;
    return p->value_s > q->value_s ? -1 : p->value_s < q->value_s ? 1 : strcmp(p->name, q->name);
}

typedef struct {
    GString *out;
    double whole_s;
    int name_width;
    bool brief;
} Tree;

static bool is_small(const RhCost *term, double whole_s)
{
    return term->value_s < TERM_LEAST_FRAC * whole_s;
}

static int deepest_name(const Tree *t, const RhCost *term, int depth)
{
    int width = 2 * depth + (int)g_utf8_strlen(term->name, -1);
    for (guint i = 0; i < term->children->len; i++) {
        const RhCost *child = g_ptr_array_index(term->children, i);
        width = MAX(width, deepest_name(t, child, depth + 1));
    }
    return width;
}

/* Shortens a source to what a first reader needs. Caller frees. */
static char *brief_source(const char *source)
{
    if (strstr(source, "fit of the form in") && !strchr(source, ';'))
        return g_strdup("fitted to measured kernels");
    return g_strndup(source, strcspn(source, ";"));
}

static void append_value(const Tree *t, int depth, const char *name, double value_s)
{
    int width = 2 * depth + (int)g_utf8_strlen(name, -1);
    g_autofree char *value = rh_quantity_format(value_s, RH_QUANTITY_S, 3);
    g_string_append_printf(t->out, "  %*s%s%*s  %8s  %5.1f %%", 2 * depth, "", name,
                           t->name_width - width, "", value,
                           t->whole_s > 0 ? 100 * value_s / t->whole_s : 0);
}

static void append_terms(const Tree *t, const RhCost *term, int depth);

/* Appends a row and its children. The source is the last column and wraps under itself. */
static void append_term(const Tree *t, const RhCost *term, int depth)
{
    g_autofree char *source = t->brief ? brief_source(term->source) : g_strdup(term->source);
    append_value(t, depth, term->name, term->value_s);
    if (*source) {
        g_string_append(t->out, "  ");
        rh_text_wrap(t->out, source, t->name_width + 23, 79);
    } else {
        g_string_append_c(t->out, '\n');
    }
    append_terms(t, term, depth + 1);
}

/* Appends the children of a term; if brief, the top ones sorted, and small ones, where there are several, as one. */
static void append_terms(const Tree *t, const RhCost *term, int depth)
{
    double rest_s = 0;
    guint rest = 0;
    const RhCost *last = NULL;
    g_autoptr(GPtrArray) top = g_ptr_array_new();
    for (guint i = 0; i < term->children->len; i++) {
        RhCost *child = g_ptr_array_index(term->children, i);
        if (!t->brief || !is_small(child, t->whole_s)) {
            g_ptr_array_add(top, child);
        } else if (child->value_s >= CLOCK_S) {
            rest_s += child->value_s;
            last = child;
            rest++;
        }
    }
    if (t->brief && depth == 1)
        g_ptr_array_sort(top, by_size);
    for (guint i = 0; i < top->len; i++)
        append_term(t, g_ptr_array_index(top, i), depth);
    if (rest == 1) {
        append_term(t, last, depth);
    } else if (rest > 1) {
        append_value(t, depth, "smaller terms", rest_s);
        g_string_append_c(t->out, '\n');
    }
}

void rh_report_tree(GString *out, const RhCost *root, double whole_s, bool brief)
{
    Tree t = {.out = out, .whole_s = whole_s, .brief = brief};
    t.name_width = deepest_name(&t, root, 0);
    append_term(&t, root, 0);
}

static int by_effect(gconstpointer x, gconstpointer y)
{
    const RhTermPair *p = x, *q = y;
    double ep = fabs(p->a_s - p->b_s), eq = fabs(q->a_s - q->b_s);
    return ep > eq ? -1 : ep < eq ? 1 : strcmp(p->name, q->name);
}

static double top_term(const RhCost *root, const char *name)
{
    for (guint i = 0; i < root->children->len; i++) {
        const RhCost *child = g_ptr_array_index(root->children, i);
        if (strcmp(child->name, name) == 0)
            return child->value_s;
    }
    return 0;
}

static bool has_pair(const GArray *pairs, const char *name)
{
    for (guint i = 0; i < pairs->len; i++)
        if (strcmp(g_array_index(pairs, RhTermPair, i).name, name) == 0)
            return true;
    return false;
}

GArray *rh_report_pairs(const RhCost *a, const RhCost *b)
{
    GArray *pairs = g_array_new(FALSE, FALSE, sizeof(RhTermPair));
    const RhCost *roots[] = {a, b};
    for (int k = 0; k < 2; k++)
        for (guint i = 0; i < roots[k]->children->len; i++) {
            const RhCost *child = g_ptr_array_index(roots[k]->children, i);
            RhTermPair pair = {child->name, top_term(a, child->name), top_term(b, child->name)};
            if (!has_pair(pairs, child->name))
                g_array_append_val(pairs, pair);
        }
    g_array_sort(pairs, by_effect);
    return pairs;
}

/* Adds one row: as many decimals as the step needs, the same in every row. */
static void versus_row(RhTable *table, const char *name, double a_s, double b_s, int decimals)
{
    char format[8], a[64], b[64], difference[64];
    g_snprintf(format, sizeof format, "%%.%df", decimals);
    g_ascii_formatd(a, sizeof a, format, a_s);
    g_ascii_formatd(b, sizeof b, format, b_s);
    g_ascii_formatd(difference, sizeof difference, format, fabs(a_s - b_s));
    bool zero = strspn(difference, "0.") == strlen(difference);
    rh_table_rowf(table, "%s|%s|%s|%s%s", name, a, b,
                  zero        ? ""
                  : a_s < b_s ? "-"
                              : "+",
                  difference);
}

void rh_report_versus_trees(GString *out, const char *heading, const char *whole,
                            const char *name_a, const RhCost *a, const char *name_b,
                            const RhCost *b)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    g_autoptr(GArray) pairs = rh_report_pairs(a, b);
    double whole_s = fmax(a->value_s, b->value_s), rest_a = 0, rest_b = 0;
    double apart_s = fabs(a->value_s - b->value_s);
    int decimals = whole_s > 0 ? CLAMP(3 - (int)floor(log10(whole_s)), 0, 9) : 3;
    if (apart_s > TERM_LEAST_FRAC * whole_s) /* of the difference, three digits */
        decimals = CLAMP(2 - (int)floor(log10(apart_s)), decimals, 9);
    rh_table_rowf(table, "%s|%s|%s|difference", heading, name_a, name_b);
    for (guint i = 0; i < pairs->len; i++) {
        const RhTermPair *p = &g_array_index(pairs, RhTermPair, i);
        bool small = fmax(p->a_s, p->b_s) < TERM_LEAST_FRAC * whole_s ||
                     fabs(p->a_s - p->b_s) < EQUAL_FRAC * whole_s;
        rest_a += small ? p->a_s : 0;
        rest_b += small ? p->b_s : 0;
        if (!small)
            versus_row(table, p->name, p->a_s, p->b_s, decimals);
    }
    if (fmax(rest_a, rest_b) >= CLOCK_S)
        versus_row(table, "all else", rest_a, rest_b, decimals);
    versus_row(table, whole, a->value_s, b->value_s, decimals);
    rh_table_append(table, out, "  ");
}

void rh_report_versus(GString *out, const char *name_a, const RhRehearsal *a, const char *name_b,
                      const RhRehearsal *b)
{
    rh_report_versus_trees(out, "seconds of a step, mean of GPUs", "step", name_a, a->costs, name_b,
                           b->costs);
}

/* The largest term that `a` spends less (sign -1) or more (sign +1) on; NULL when none exceeds the
 * floor. */
static const RhTermPair *strongest(const GArray *pairs, int sign, double floor_s)
{
    for (guint i = 0; i < pairs->len; i++) {
        const RhTermPair *p = &g_array_index(pairs, RhTermPair, i);
        if (sign * (p->a_s - p->b_s) > floor_s)
            return p;
    }
    return NULL;
}

char *rh_report_reason(const RhRehearsal *a, const RhRehearsal *b, const char *name_b)
{
    if (!a->costs || !b->costs)
        return NULL;
    g_autoptr(GArray) pairs = rh_report_pairs(a->costs, b->costs);
    double floor_s = 5e-4 * a->step_time_s;
    const RhTermPair *gain = strongest(pairs, -1, floor_s), *loss = strongest(pairs, +1, floor_s);
    if (!gain && !loss)
        return g_strdup_printf("no part of its step differs by 0.05 %% or more from %s", name_b);
    GString *out = g_string_new(NULL);
    if (gain) {
        g_autofree char *size = rh_quantity_format(gain->b_s - gain->a_s, RH_QUANTITY_S, 3);
        g_string_append_printf(out, "%s takes %s less", gain->name, size);
    }
    if (loss) {
        g_autofree char *size = rh_quantity_format(loss->a_s - loss->b_s, RH_QUANTITY_S, 3);
        g_string_append_printf(out, "%s%s takes %s more", gain ? "; but " : "", loss->name, size);
    }
    double whole_s = b->step_time_s - a->step_time_s;
    double rest_s =
        whole_s + (gain ? gain->a_s - gain->b_s : 0) + (loss ? loss->a_s - loss->b_s : 0);
    g_autofree char *whole = rh_quantity_format(fabs(whole_s), RH_QUANTITY_S, 3);
    g_autofree char *rest = rh_quantity_format(fabs(rest_s), RH_QUANTITY_S, 3);
    if (fabs(rest_s) > floor_s)
        g_string_append_printf(out, "; all else %s %s", rest, rest_s < 0 ? "more" : "less");
    g_string_append_printf(out, "; the whole step %s %s", whole, whole_s < 0 ? "more" : "less");
    return g_string_free(out, FALSE);
}

/* Names the rank that spends most time on this term: "1.47 s (rank 16)". Caller frees. */
static char *worst_rank(const RhRun *run, const char *name)
{
    for (int w = 0; run && w < RH_WAIT_LAST; w++) {
        if (g_strcmp0(rh_wait_name((RhWait)w), name) != 0)
            continue;
        const RhPerformer *worst = NULL;
        for (guint i = 0; i < run->performers->len; i++) {
            const RhPerformer *p = &g_array_index(run->performers, RhPerformer, i);
            if (!worst || p->wait_s[w] > worst->wait_s[w])
                worst = p;
        }
        g_autofree char *value =
            worst ? rh_quantity_format(worst->wait_s[w], RH_QUANTITY_S, 3) : NULL;
        return worst ? g_strdup_printf("%s (rank %d)", value, worst->rank) : g_strdup("");
    }
    return g_strdup("");
}

/* Returns the top terms of a tree, largest first; *rest_s: the sum of those too small to print, where they are several,
 * their names in `small`. */
static GPtrArray *top_terms(const RhCost *costs, double step_s, double *rest_s, GString *small)
{
    GPtrArray *terms = g_ptr_array_new();
    g_autoptr(GPtrArray) rest = g_ptr_array_new();
    *rest_s = 0;
    for (guint i = 0; i < costs->children->len; i++) {
        RhCost *term = g_ptr_array_index(costs->children, i);
        if (term->value_s >= CLOCK_S)
            g_ptr_array_add(term->value_s < TERM_LEAST_FRAC * step_s ? rest : terms, term);
    }
    if (rest->len == 1)
        g_ptr_array_add(terms, g_ptr_array_steal_index(rest, 0));
    for (guint i = 0; i < rest->len; i++) {
        const RhCost *term = rest->pdata[i];
        *rest_s += term->value_s;
        g_string_append_printf(small, "%s%s", i ? ", " : "", term->name);
    }
    g_ptr_array_sort(terms, by_size);
    return terms;
}

void rh_report_terms(GString *out, const RhCost *costs, double step_s, const RhRun *run)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    double rest_s = 0;
    g_autoptr(GString) small = g_string_new(NULL), notes = g_string_new(NULL);
    g_autoptr(GPtrArray) terms = top_terms(costs, step_s, &rest_s, small);
    rh_table_rowf(table, "time of a step|mean of GPUs|share|longest on a GPU");
    for (guint i = 0; i < terms->len; i++) {
        const RhCost *term = g_ptr_array_index(terms, i);
        g_autofree char *value = rh_quantity_format(term->value_s, RH_QUANTITY_S, 3);
        g_autofree char *worst = worst_rank(run, term->name);
        rh_table_rowf(table, "  %s|%s|%.1f %%|%s", term->name, value, 100 * term->value_s / step_s,
                      worst);
        if (run && !*worst && *term->source) /* no time of a rank: where it comes from */
            g_string_append_printf(notes, "    %s: %s\n", term->name, term->source);
    }
    g_autofree char *rest = rh_quantity_format(rest_s, RH_QUANTITY_S, 3);
    if (rest_s >= CLOCK_S)
        rh_table_rowf(table, "  smaller terms|%s|%.1f %%|", rest, 100 * rest_s / step_s);
    rh_table_append(table, out, "");
    g_string_prepend(small, "    smaller terms: ");
    if (rest_s >= CLOCK_S)
        rh_text_wrap(out, small->str, 6, 79);
    g_string_append(out, notes->str);
}
