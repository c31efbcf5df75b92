/* The space of layouts: every canonical legal one, in a fixed order. */
#include "strategies/knobs.h"
#include "strategies/search/plan.h"

typedef struct {
    const RhCase *c;
    const RhConstraint *constraints;
    int32_t constraints_count;
    RhDeadline deadline;
    bool over;                         /* the deadline has passed, or nobody wants more */
    const RhKnob *knobs[RH_KNOBS_MAX]; /* that are walked over, outermost first */
    int32_t knobs_count;
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
    if (!allowed(w, l) || !rh_train_legal(w->c, l, NULL))
        return;
    RhLayout canonical = rh_train_canonical(w->c, l);
    if (rh_layout_equal(&canonical, l))
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

/* All values of the knobs from `depth` on, the last one's innermost; of one that is fixed, no
 * degree of the grid, that value alone, whether or not the search would come by it. */
static void walk(Walk *w, RhLayout *l, int32_t depth)
{
    if (depth == w->knobs_count) {
        consider(w, l);
        return;
    }
    const RhKnob *knob = w->knobs[depth];
    const RhConstraint *constraint = fixed(w, knob);
    if (constraint && !knob->degree) {
        rh_knob_store(knob, l, (int32_t)constraint->value);
        walk(w, l, depth + 1);
        return;
    }
    for (int32_t value = knob->low - 1; !is_over(w) && knob->next(knob, w->c, l, &value);) {
        rh_knob_store(knob, l, value);
        walk(w, l, depth + 1);
    }
}

static void add_in_order(Walk *w, const RhKnob *knob)
{
    int32_t at = w->knobs_count++;
    for (; at > 0 && w->knobs[at - 1]->walk > knob->walk; at--)
        w->knobs[at] = w->knobs[at - 1];
    w->knobs[at] = knob;
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
              .constraints = constraints,
              .constraints_count = count,
              .deadline = deadline,
              .visit = visit,
              .user = user};
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->next)
            add_in_order(&w, knob);
    RhLayout l = start(&w);
    walk(&w, &l, 0);
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
