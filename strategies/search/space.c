/* The space of layouts: every canonical legal one, in a fixed order. */
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/search/plan.h"

typedef struct {
    const RhCase *c;
    const RhFrameworkRules *framework; /* of the case's stack; NULL: it runs every legal layout */
    const RhConstraint *constraints;
    int32_t constraints_count;
    RhDeadline deadline;
    bool over;                         /* the deadline has passed, or nobody wants more */
    const RhKnob *knobs[RH_KNOBS_MAX]; /* that are walked over, outermost first */
    int32_t knobs_count;
    /* which of rh_train_rules are asked when so many knobs are set */
    int32_t rules_from[RH_KNOBS_MAX];
    int32_t rules_end[RH_KNOBS_MAX];
    GHashTable *values; /* knob and what it is given (GBytes) -> GArray of int32_t; owned */
    RhSpaceVisit visit;
    void *user;
} Walk;

static bool allowed(const Walk *w, const RhLayout *l)
{
    for (int32_t i = 0; i < w->constraints_count; i++) {
        const RhConstraint *k = &w->constraints[i];
        if (!k->knob)
            continue;
        double v = rh_knob_value(k->knob, l);
        if ((k->relation == 0 && v != k->value) || (k->relation < 0 && v > k->value) ||
            (k->relation > 0 && v < k->value))
            return false;
    }
    return true;
}

static void consider(Walk *w, const RhLayout *l)
{
    if (!allowed(w, l))
        return;
    RhLayout canonical = rh_train_canonical(w->c, l);
    if (rh_layout_equal(&canonical, l) && !rh_framework_refusal(w->framework, w->c, l))
        w->over |= !w->visit(l, w->user);
}

static bool is_over(Walk *w)
{
    w->over |= rh_deadline_passed(w->deadline);
    return w->over;
}

/* What --fix says of the knob; NULL: nothing. */
static const RhConstraint *fixed(const Walk *w, const RhKnob *knob)
{
    for (int32_t i = 0; i < w->constraints_count; i++)
        if (w->constraints[i].knob == knob && w->constraints[i].relation == 0)
            return &w->constraints[i];
    return NULL;
}

/* What the knob's values are for, where they are worth keeping. */
static GBytes *values_key(const RhKnob *knob, const RhLayout *l)
{
    int32_t given[RH_KNOBS_MAX + 1] = {(int32_t)(knob - rh_knobs)}, count = 1;
    for (int i = 0; i < RH_KNOB_AT_LAST; i++)
        if (knob->given >> i & 1)
            given[count++] = rh_knob_value(&rh_knobs[i], l);
    return g_bytes_new(given, (gsize)count * sizeof *given);
}

/* All values of a knob that says what it looks at; borrowed. */
static const GArray *values_of(Walk *w, const RhKnob *knob, const RhLayout *l)
{
    GBytes *key = values_key(knob, l);
    GArray *values = g_hash_table_lookup(w->values, key);
    if (values) {
        g_bytes_unref(key);
        return values;
    }
    values = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t value = knob->low - 1; knob->next(knob, w->c, l, &value);)
        g_array_append_val(values, value);
    g_hash_table_insert(w->values, key, values);
    return values;
}

/* Does a rule forbid all layouts with the first `depth` knobs as they are? */
static bool forbidden(const Walk *w, const RhLayout *l, int32_t depth)
{
    for (int32_t i = w->rules_from[depth]; i < w->rules_end[depth]; i++)
        if (!rh_train_rules[i].legal(w->c, l))
            return true;
    return false;
}

static void walk(Walk *w, RhLayout *l, int32_t depth);

static void step(Walk *w, const RhKnob *knob, RhLayout *l, int32_t depth, int32_t value)
{
    rh_knob_store(knob, l, value);
    walk(w, l, depth + 1);
}

/* All values of the knobs from `depth` on, the last one's innermost; of one that is fixed, no
 * degree of the grid, that value alone, whether or not the search would come by it. */
static void walk(Walk *w, RhLayout *l, int32_t depth)
{
    if (forbidden(w, l, depth))
        return;
    if (depth == w->knobs_count) {
        consider(w, l);
        return;
    }
    const RhKnob *knob = w->knobs[depth];
    const RhConstraint *constraint = fixed(w, knob);
    if (constraint && !knob->degree) {
        step(w, knob, l, depth, (int32_t)constraint->value);
    } else if (knob->given) {
        const GArray *values = values_of(w, knob, l);
        for (guint i = 0; !is_over(w) && i < values->len; i++)
            step(w, knob, l, depth, g_array_index(values, int32_t, i));
    } else {
        for (int32_t value = knob->low - 1; !is_over(w) && knob->next(knob, w->c, l, &value);)
            step(w, knob, l, depth, value);
    }
}

static void add_in_order(Walk *w, const RhKnob *knob)
{
    int32_t at = w->knobs_count++;
    for (; at > 0 && w->knobs[at - 1]->walk > knob->walk; at--)
        w->knobs[at] = w->knobs[at - 1];
    w->knobs[at] = knob;
}

/* The rules are asked in their order, each once all that it looks at is set. */
static void place_rules(Walk *w)
{
    int32_t depth = 0;
    for (int32_t i = 0; rh_train_rules[i].legal; i++) {
        for (int32_t k = depth; k < w->knobs_count; k++)
            if (rh_train_rules[i].given >> (w->knobs[k] - rh_knobs) & 1)
                depth = k + 1;
        if (w->rules_end[depth] == 0)
            w->rules_from[depth] = i;
        w->rules_end[depth] = i + 1;
    }
}

/* A knob that is not walked over stands where it is fixed, or at its default. */
static RhLayout start(const Walk *w)
{
    RhLayout l = rh_layout_default();
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (!knob->next && fixed(w, knob))
            rh_knob_store(knob, &l, (int32_t)fixed(w, knob)->value);
    return l;
}

void rh_space_walk(const RhCase *c, const RhConstraint *constraints, int32_t count,
                   RhDeadline deadline, RhSpaceVisit visit, void *user)
{
    Walk w = {.c = c,
              .framework = rh_framework_rules(c->stack->framework, NULL),
              .constraints = constraints,
              .constraints_count = count,
              .deadline = deadline,
              .visit = visit,
              .user = user};
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->next)
            add_in_order(&w, knob);
    place_rules(&w);
    w.values = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                     (GDestroyNotify)g_array_unref);
    RhLayout l = start(&w);
    if (rh_train_job_legal(c, NULL))
        walk(&w, &l, 0);
    g_hash_table_destroy(w.values);
}

static bool append(const RhLayout *l, void *user)
{
    g_array_append_vals(user, l, 1);
    return true;
}

GArray *rh_space_list(const RhCase *c, const RhConstraint *constraints, int32_t count)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhLayout));
    rh_space_walk(c, constraints, count, (RhDeadline){0}, append, out);
    return out;
}
