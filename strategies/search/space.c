#include "strategies/search/space.h"

#include "strategies/framework_rules.h"
#include "strategies/train/train.h"

struct RhSpace {
    const RhProblem *c;
    const RhProblem *unlike; /* cuts that it allows too are left out; NULL: none are */
    bool whole;
    const RhFrameworkRules *framework; /* of the problem's stack; NULL: it runs every legal
                                        * layout */
    const RhConstraint *constraints;
    int32_t constraints_count;
    RhDeadline deadline;
    bool over;                         /* the deadline has passed, or the visitor has ended the
                                        * walk */
    const RhKnob *knobs[RH_KNOBS_MAX]; /* knobs that are walked, outermost first */
    int32_t knobs_count;               /* number of all of them */
    int32_t cut_count, chunks_count, shares_count; /* ends of the parts of the space */
    /* first of rh_train_rules that can be checked once so many knobs are set */
    int32_t rules_from[RH_KNOBS_MAX + 1];
    int32_t rules_end[RH_KNOBS_MAX + 1];
    GHashTable *values; /* knob and its inputs (GBytes) -> GArray of int32_t; owned */
    uint64_t of_cuts, of_chunks, of_shares; /* bits of the knobs set so far */
    GArray *choices;                        /* RhRecomputeChoice */
    GArray *orders;                         /* RhOrder */
};

/* A walk over the knobs before `end`. */
typedef struct {
    RhSpace *space;
    int32_t end;
    void (*found)(RhSpace *space, const RhLayout *l, RhSpaceVisit visit, void *user);
    RhSpaceVisit visit;
    void *user;
} Walk;

static bool is_walked(const RhSpace *space, const RhKnob *knob)
{
    return knob->next || (space->whole && knob->wide);
}

static int32_t place_of(const RhSpace *space, const RhKnob *knob)
{
    return space->whole ? knob->part : knob->walk;
}

static bool next_value(const RhSpace *space, const RhKnob *knob, const RhLayout *l, int32_t *value)
{
    return (space->whole && knob->wide ? knob->wide : knob->next)(knob, space->c, l, value);
}

/* Does a constraint ask for the fewest recomputed layers, which the whole space tries anyway? */
static bool says_nothing(const RhSpace *space, const RhConstraint *k)
{
    return space->whole && k->knob == rh_knob_recomputed_layers() &&
           k->value == RH_RECOMPUTED_FEWEST;
}

/* Does every limit allow the value, and one of the fixed values, which are alternatives? */
static bool allows(const RhSpace *space, const RhKnob *knob, int32_t value)
{
    bool fixed = false, named = false;
    for (int32_t i = 0; i < space->constraints_count; i++) {
        const RhConstraint *k = &space->constraints[i];
        if (k->knob != knob || says_nothing(space, k))
            continue;
        if ((k->relation < 0 && value > k->value) || (k->relation > 0 && value < k->value))
            return false;
        fixed |= k->relation == 0;
        named |= k->relation == 0 && value == k->value;
    }
    return !fixed || named;
}

static bool allowed(const RhSpace *space, const RhLayout *l)
{
    for (int32_t i = 0; i < space->constraints_count; i++) {
        const RhKnob *knob = space->constraints[i].knob;
        if (knob && !allows(space, knob, rh_knob_value(knob, l)))
            return false;
    }
    return true;
}

static bool is_over(RhSpace *space)
{
    space->over |= rh_deadline_passed(space->deadline);
    return space->over;
}

/* The next value that the knob is fixed to, after `*i` constraints; NULL: there are no more. */
static const RhConstraint *next_fixed(const RhSpace *space, const RhKnob *knob, int32_t *i)
{
    while (*i < space->constraints_count) {
        const RhConstraint *k = &space->constraints[(*i)++];
        if (k->knob == knob && k->relation == 0 && !says_nothing(space, k))
            return k;
    }
    return NULL;
}

static bool is_fixed(const RhSpace *space, const RhKnob *knob)
{
    int32_t i = 0;
    return next_fixed(space, knob, &i) != NULL;
}

/* Key of the knob's list of values: the inputs that these depend on, where they are worth
 * keeping. */
static GBytes *values_key(const RhKnob *knob, const RhLayout *l)
{
    int32_t given[RH_KNOBS_MAX + 1] = {(int32_t)(knob - rh_knobs)}, count = 1;
    for (int i = 0; i < RH_KNOB_AT_LAST; i++)
        if (knob->given >> i & 1)
            given[count++] = rh_knob_value(&rh_knobs[i], l);
    return g_bytes_new(given, (gsize)count * sizeof *given);
}

/* All values of a knob that declares its inputs; borrowed. */
static const GArray *values_of(RhSpace *space, const RhKnob *knob, const RhLayout *l)
{
    GBytes *key = values_key(knob, l);
    GArray *values = g_hash_table_lookup(space->values, key);
    if (values) {
        g_bytes_unref(key);
        return values;
    }
    values = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t value = knob->low - 1; next_value(space, knob, l, &value);)
        g_array_append_val(values, value);
    g_hash_table_insert(space->values, key, values);
    return values;
}

/* Does a rule forbid all layouts with the first `depth` knobs as they are? */
static bool forbidden(const RhSpace *space, const RhLayout *l, int32_t depth)
{
    for (int32_t i = space->rules_from[depth]; i < space->rules_end[depth]; i++)
        if (!rh_train_rules[i].legal(space->c, l))
            return true;
    return false;
}

static void walk_knobs(const Walk *w, RhLayout *l, int32_t depth);

static void try_value(const Walk *w, const RhKnob *knob, RhLayout *l, int32_t depth, int32_t value)
{
    if (!allows(w->space, knob, value))
        return;
    rh_knob_store(knob, l, value);
    walk_knobs(w, l, depth + 1);
}

/* Tries each fixed value, whether or not the search would. */
static void step_fixed(const Walk *w, const RhKnob *knob, RhLayout *l, int32_t depth)
{
    int32_t i = 0;
    for (const RhConstraint *k; (k = next_fixed(w->space, knob, &i)) && !is_over(w->space);)
        try_value(w, knob, l, depth, (int32_t)k->value);
}

/* Walks all values of the knobs from `depth` on, the last one's innermost; for a fixed knob only
 * the fixed ones. */
static void walk_knobs(const Walk *w, RhLayout *l, int32_t depth)
{
    RhSpace *space = w->space;
    if (forbidden(space, l, depth))
        return;
    if (depth == w->end) {
        w->found(space, l, w->visit, w->user);
        return;
    }
    const RhKnob *knob = space->knobs[depth];
    if (is_fixed(space, knob) && (space->whole || !knob->degree)) {
        step_fixed(w, knob, l, depth);
    } else if (knob->given) {
        const GArray *values = values_of(space, knob, l);
        for (guint i = 0; !is_over(space) && i < values->len; i++)
            try_value(w, knob, l, depth, g_array_index(values, int32_t, i));
    } else {
        for (int32_t value = knob->low - 1; !is_over(space) && next_value(space, knob, l, &value);)
            try_value(w, knob, l, depth, value);
    }
}

/* --- a space from beginning to end --- */

static void add_in_order(RhSpace *space, const RhKnob *knob)
{
    int32_t at = space->knobs_count++;
    for (; at > 0 && place_of(space, space->knobs[at - 1]) > place_of(space, knob); at--)
        space->knobs[at] = space->knobs[at - 1];
    space->knobs[at] = knob;
    space->cut_count += knob->part < RH_PART_CHUNKS;
    space->chunks_count += knob->part < RH_PART_SHARES;
    space->shares_count += knob->part < RH_PART_RECOMPUTE;
}

/* Orders the rules: each is checked once all knobs that it reads are set. */
static void place_rules(RhSpace *space)
{
    int32_t depth = 0;
    for (int32_t i = 0; rh_train_rules[i].legal; i++) {
        for (int32_t k = depth; k < space->knobs_count; k++)
            if (rh_train_rules[i].given >> (space->knobs[k] - rh_knobs) & 1)
                depth = k + 1;
        if (space->rules_end[depth] == 0)
            space->rules_from[depth] = i;
        space->rules_end[depth] = i + 1;
    }
}

/* Appends every allowed value of the knob to `values`: the fixed ones, or those of the search. */
static void list_values(const RhSpace *space, const RhKnob *knob, const RhLayout *l, GArray *values)
{
    int32_t i = 0, value = knob->low - 1;
    const RhConstraint *k = next_fixed(space, knob, &i);
    while (k ? true : next_value(space, knob, l, &value)) {
        int32_t one = k ? (int32_t)k->value : value;
        if (allows(space, knob, one))
            g_array_append_val(values, one);
        if (k && !(k = next_fixed(space, knob, &i)))
            break;
    }
}

static void list_choices(RhSpace *space)
{
    RhLayout l = rh_layout_default();
    g_autoptr(GArray) sets = g_array_new(FALSE, FALSE, sizeof(int32_t));
    list_values(space, rh_knob_recompute(), &l, sets);
    for (guint i = 0; i < sets->len; i++) {
        g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(int32_t));
        l.recompute = (RhRecompute)g_array_index(sets, int32_t, i);
        list_values(space, rh_knob_recomputed_layers(), &l, layers);
        for (guint k = 0; k < layers->len; k++) {
            RhRecomputeChoice choice = {l.recompute, g_array_index(layers, int32_t, k)};
            g_array_append_val(space->choices, choice);
        }
    }
}

/* Makes a space; `whole`: with all values of knobs, not only the usual ones. */
static RhSpace *space_new(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                          RhDeadline deadline, bool whole)
{
    RhSpace *space = g_new0(RhSpace, 1);
    *space = (RhSpace){.c = c,
                       .whole = whole,
                       .framework = rh_framework_rules(c->stack->framework, NULL),
                       .constraints = constraints,
                       .constraints_count = count,
                       .deadline = deadline,
                       .of_cuts = rh_knobs_before(RH_PART_CHUNKS),
                       .of_chunks = rh_knobs_before(RH_PART_SHARES),
                       .of_shares = rh_knobs_before(RH_PART_RECOMPUTE),
                       .choices = g_array_new(FALSE, FALSE, sizeof(RhRecomputeChoice)),
                       .orders = g_array_new(FALSE, FALSE, sizeof(int32_t))};
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (is_walked(space, knob))
            add_in_order(space, knob);
    place_rules(space);
    space->values = g_hash_table_new_full(
        g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, (GDestroyNotify)g_array_unref);
    return space;
}

RhSpace *rh_space_new(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                      RhDeadline deadline)
{
    RhSpace *space = space_new(c, constraints, count, deadline, true);
    RhLayout l = rh_layout_default();
    list_choices(space);
    list_values(space, rh_knob_order(), &l, space->orders);
    return space;
}

void rh_space_leave_out(RhSpace *space, const RhProblem *other)
{
    space->unlike = other;
}

void rh_space_free(RhSpace *space)
{
    if (!space)
        return;
    g_hash_table_destroy(space->values);
    g_array_unref(space->choices);
    g_array_unref(space->orders);
    g_free(space);
}

/* Layout at the start: knobs that are not walked have their fixed value, or their default. */
static RhLayout first_layout(const RhSpace *space)
{
    RhLayout l = rh_layout_default();
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        int32_t i = 0;
        const RhConstraint *fixed = is_walked(space, knob) ? NULL : next_fixed(space, knob, &i);
        if (fixed)
            rh_knob_store(knob, &l, (int32_t)fixed->value);
    }
    return l;
}

static void found_layout(RhSpace *space, const RhLayout *l, RhSpaceVisit visit, void *user)
{
    if (allowed(space, l) && rh_train_is_canonical(space->c, l, ~UINT64_C(0)) &&
        !rh_framework_refusal(space->framework, space->c, l))
        space->over |= !visit(l, user);
}

/* Do the rules that read knobs of a cut alone allow the cut for another problem of the same stack?
 */
static bool allows_cut(const RhSpace *space, const RhProblem *other, const RhLayout *cut)
{
    for (int32_t i = 0; rh_train_rules[i].legal; i++)
        if ((rh_train_rules[i].given & ~space->of_cuts) == 0 &&
            !rh_train_rules[i].legal(other, cut))
            return false;
    return !rh_framework_refusal_given(space->framework, other, cut, space->of_cuts);
}

static void found_cut(RhSpace *space, const RhLayout *l, RhSpaceVisit visit, void *user)
{
    if (rh_train_is_canonical(space->c, l, space->of_cuts) &&
        !rh_framework_refusal_given(space->framework, space->c, l, space->of_cuts) &&
        !(space->unlike && allows_cut(space, space->unlike, l)))
        space->over |= !visit(l, user);
}

static void found_chunks(RhSpace *space, const RhLayout *l, RhSpaceVisit visit, void *user)
{
    if (rh_train_is_canonical(space->c, l, space->of_chunks))
        space->over |= !visit(l, user);
}

static void found_shares(RhSpace *space, const RhLayout *l, RhSpaceVisit visit, void *user)
{
    if (rh_train_is_canonical(space->c, l, space->of_shares))
        space->over |= !visit(l, user);
}

void rh_space_walk_cuts(RhSpace *space, RhSpaceVisit visit, void *user)
{
    RhLayout l = first_layout(space);
    Walk w = {space, space->cut_count, found_cut, visit, user};
    if (rh_train_job_legal(space->c, NULL))
        walk_knobs(&w, &l, 0);
}

void rh_space_walk_chunks(RhSpace *space, const RhLayout *cut, RhSpaceVisit visit, void *user)
{
    RhLayout l = *cut;
    Walk w = {space, space->chunks_count, found_chunks, visit, user};
    walk_knobs(&w, &l, space->cut_count);
}

void rh_space_walk_shares(RhSpace *space, const RhLayout *chunks, RhSpaceVisit visit, void *user)
{
    RhLayout l = *chunks;
    Walk w = {space, space->shares_count, found_shares, visit, user};
    walk_knobs(&w, &l, space->chunks_count);
}

bool rh_space_admits(const RhSpace *space, const RhLayout *l)
{
    bool legal = true;
    for (int32_t depth = space->shares_count + 1; legal && depth <= space->knobs_count; depth++)
        legal = !forbidden(space, l, depth);
    return legal && allowed(space, l) && rh_train_is_canonical(space->c, l, ~UINT64_C(0)) &&
           !rh_framework_refusal(space->framework, space->c, l);
}

const GArray *rh_space_recompute_choices(const RhSpace *space)
{
    return space->choices;
}

/* RH_KNOB_BIT of the knobs that define recomputation. */
static uint64_t of_recompute(void)
{
    return UINT64_C(1) << (rh_knob_recompute() - rh_knobs) |
           UINT64_C(1) << (rh_knob_recomputed_layers() - rh_knobs);
}

uint32_t rh_space_recompute_modules(const RhSpace *space, const RhLayout *cut)
{
    uint64_t given = space->of_cuts | of_recompute();
    uint32_t modules = 0;
    for (guint i = 0; i < space->choices->len; i++) {
        RhRecomputeChoice choice = g_array_index(space->choices, RhRecomputeChoice, i);
        RhLayout l = *cut;
        l.recompute = choice.recompute;
        l.recomputed_layers_count = MAX(choice.layers_count, 0);
        if (!rh_framework_refusal_given(space->framework, space->c, &l, given))
            modules |= (uint32_t)choice.recompute;
    }
    return modules;
}

bool rh_space_recomputes_unevenly(const RhSpace *space)
{
    RhLayout l = rh_layout_default();
    l.recompute = RH_RECOMPUTE_FULL;
    l.recomputed_layers_count = 2;
    return !rh_framework_refusal_given(space->framework, space->c, &l, of_recompute());
}

const RhKnob *rh_space_instead(const RhSpace *space, const RhLayout *cut)
{
    for (const RhKnob *knob = rh_knobs; space->framework && knob->key; knob++) {
        RhLayout l = *cut;
        uint64_t given = space->of_cuts | of_recompute() | UINT64_C(1) << (knob - rh_knobs);
        l.recompute = RH_RECOMPUTE_FULL;
        if (knob->instead && !is_fixed(space, knob) &&
            allows(space, rh_knob_recompute(), RH_RECOMPUTE_NONE) &&
            knob->outside_next(space->c, &l, 0) &&
            !rh_framework_refusal_given(space->framework, space->c, &l, given))
            return knob;
    }
    return NULL;
}

const GArray *rh_space_orders(const RhSpace *space)
{
    return space->orders;
}

/* --- the whole space --- */

void rh_space_walk(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                   RhDeadline deadline, RhSpaceVisit visit, void *user)
{
    g_autoptr(RhSpace) space = space_new(c, constraints, count, deadline, false);
    RhLayout l = first_layout(space);
    Walk w = {space, space->knobs_count, found_layout, visit, user};
    if (rh_train_job_legal(c, NULL))
        walk_knobs(&w, &l, 0);
}

static bool append(const RhLayout *l, void *user)
{
    g_array_append_vals(user, l, 1);
    return true;
}

GArray *rh_space_list(const RhProblem *c, const RhConstraint *constraints, int32_t count)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhLayout));
    rh_space_walk(c, constraints, count, (RhDeadline){0}, append, out);
    return out;
}
