#include "cli/explain_sensitivity.h"

#include <math.h>
#include <string.h>

#include "base/table.h"
#include "platforms/facts.h"
#include "report/format.h"

#define CHANGE_FRAC 0.1
#define LEAST_FRAC  5e-5  /* less is no effect */
#define WIN_FRAC    0.002 /* less is a tie */
#define ROWS_MAX    16

/* Lower bound of a plan's step under these inputs; 0 where it is not legal there. */
static double bound_s(const RhInputs *in, const RhResultPlan *plan)
{
    RhLayout layout = plan->r.layout;
    if (!rh_inputs_settle_layout(in, &layout, NULL))
        return 0;
    g_autoptr(RhRehearsal) r = rh_rehearse_quick(&in->c, &layout);
    return r->step_time_s;
}

typedef struct {
    const RhResult *result;
    const RhResultPlan *plan;
    double *base_s; /* bound of every plan, nothing changed */
    int64_t first;  /* the rank that wins then */
} Study;

static const RhResultPlan *plan_at(const Study *s, guint i)
{
    return &g_array_index(s->result->plans, RhResultPlan, i);
}

/* Every plan as it is recorded, times what its bound does: the rank of the quickest by more than a tie
 * than that which won, and by how much the studied one changed. */
static int64_t winner(const Study *s, const RhInputs *in, double *change_frac)
{
    double best_s = HUGE_VAL, first_s = HUGE_VAL;
    int64_t best = s->first;
    for (guint i = 0; i < s->result->plans->len; i++) {
        const RhResultPlan *p = plan_at(s, i);
        double bound = bound_s(in, p);
        if (bound <= 0 || s->base_s[i] <= 0)
            continue;
        double step_s = p->r.step_time_s * bound / s->base_s[i];
        if (p == s->plan)
            *change_frac = bound / s->base_s[i] - 1;
        if (p->rank == s->first)
            first_s = step_s;
        if (step_s < best_s) {
            best_s = step_s;
            best = p->rank;
        }
    }
    return best_s < (1 - WIN_FRAC) * first_s ? best : s->first;
}

/* NAN where the constant may not be so, or the layout not on it. */
static double study(const Study *s, const RhFactRow *row, double value, int64_t *rank)
{
    g_autofree char *text = rh_quantity_format(value, row->kind, 12);
    g_autofree char *set = g_strdup_printf("platform.%s=%s", row->key, text);
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    double change_frac = (double)NAN;
    g_ptr_array_add(sets, set);
    *rank = s->first;
    g_autoptr(RhInputs) in =
        rh_range_holds(row->range, value) ? rh_result_inputs(s->result, sets, NULL, NULL) : NULL;
    if (in)
        *rank = winner(s, in, &change_frac);
    return change_frac;
}

static double size_of(const RhSensitivity *e)
{
    double less = isnan(e->less_frac) ? 0 : fabs(e->less_frac);
    return fmax(less, isnan(e->more_frac) ? 0 : fabs(e->more_frac));
}

static int by_size(gconstpointer x, gconstpointer y)
{
    const RhSensitivity *a = x, *b = y;
    double sa = size_of(a), sb = size_of(b);
    return sa > sb ? -1 : sa < sb ? 1 : strcmp(a->key, b->key);
}

static int64_t quickest(const RhResult *result)
{
    const RhResultPlan *best = &g_array_index(result->plans, RhResultPlan, 0);
    for (guint i = 1; i < result->plans->len; i++) {
        const RhResultPlan *p = &g_array_index(result->plans, RhResultPlan, i);
        best = p->r.step_time_s < best->r.step_time_s ? p : best;
    }
    return best->rank;
}

GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan, GError **error)
{
    g_autoptr(RhInputs) in = rh_result_inputs(result, NULL, NULL, error);
    if (!in)
        return NULL;
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    GArray *effects = g_array_new(FALSE, TRUE, sizeof(RhSensitivity));
    g_autofree double *base_s = g_new0(double, result->plans->len + 1);
    Study s = {result, plan, base_s, quickest(result)};
    for (guint i = 0; i < result->plans->len; i++)
        base_s[i] = bound_s(in, plan_at(&s, i));
    for (size_t i = 0; i < count; i++) {
        const RhFact *fact = rh_facts_seen(in->platform, &rows[i]); /* as the stack has it */
        if (fact->tag == RH_TAG_NONE || fact->value <= 0 ||
            rh_stack_ignores(in->c.stack, in->hardware, rows[i].key))
            continue;
        RhSensitivity e = {.key = rows[i].key, .fact = *fact, .kind = rows[i].kind};
        e.less_frac = study(&s, &rows[i], fact->value * (1 - CHANGE_FRAC), &e.less_rank);
        e.more_frac = study(&s, &rows[i], fact->value * (1 + CHANGE_FRAC), &e.more_rank);
        e.less_wins = e.less_rank != s.first;
        e.more_wins = e.more_rank != s.first;
        if (size_of(&e) >= LEAST_FRAC || e.less_wins || e.more_wins)
            g_array_append_val(effects, e);
    }
    g_array_sort(effects, by_size);
    return effects;
}

static char *effect_text(double frac)
{
    return isnan(frac) ? g_strdup("-") : g_strdup_printf("%+.2f %%", 100 * frac);
}

void rh_explain_append_sensitivity(GString *out, const GArray *effects)
{
    guint turning = 0;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        turning += e->less_wins || e->more_wins;
    }
    g_string_append_printf(out,
                           "%u of %u constants that move the step change who wins "
                           "at +-10 %%\n",
                           turning, effects->len);
    g_autoptr(RhTable) table = rh_table_new("<>>>>");
    rh_table_rowf(table, "constant|value|10 %% less|10 %% more|then wins");
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        if (i >= ROWS_MAX && !e->less_wins && !e->more_wins)
            continue;
        g_autofree char *value = rh_text_fact(&e->fact, e->kind);
        g_autofree char *less = effect_text(e->less_frac);
        g_autofree char *more = effect_text(e->more_frac);
        g_autoptr(GString) wins = g_string_new(NULL);
        if (e->less_wins)
            g_string_append_printf(wins, "#%" G_GINT64_FORMAT " (less)", e->less_rank);
        if (e->more_wins)
            g_string_append_printf(wins, "%s#%" G_GINT64_FORMAT " (more)", wins->len ? " " : "",
                                   e->more_rank);
        rh_table_rowf(table, "%s|%s|%s|%s|%s", e->key, value, less, more, wins->str);
    }
    rh_table_append(table, out, "  ");
    g_string_append(out,
                    "  change of the step by its lower bound (segment graph); who wins: of the "
                    "plans\n  in the file. - : the constant may not be so\n");
}
