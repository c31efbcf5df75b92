#include "strategies/search/infeasible_suggestions.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/framework_rules.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/memory_smallest.h"
#include "strategies/train/block_cost.h"
#include "strategies/train/layout_representatives.h"

char *rh_suggest_memory_reason(const RhTrainMemory *m, double limit_bytes)
{
    int largest = 0;
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        if (m->at_peak_bytes[use] > m->at_peak_bytes[largest])
            largest = use;
    g_autofree char *need = rh_quantity_format(m->peak_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *over = rh_quantity_format(m->peak_bytes - limit_bytes, RH_QUANTITY_BYTES, 2);
    g_autofree char *limit = rh_quantity_format(limit_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *part = rh_quantity_format(m->at_peak_bytes[largest], RH_QUANTITY_BYTES, 3);
    return g_strdup_printf("needs %s, %s more than the %s of a GPU; stage %d holds %s of %s", need,
                           over, limit, m->stage, part, rh_memory_name((RhMemoryUse)largest));
}

static bool count_one(const RhLayout *layout, void *user)
{
    (void)layout;
    ++*(int64_t *)user;
    return true;
}

/* Counts of layouts that are legal except for the stack's framework. */
typedef struct {
    const RhProblem *c;
    const RhFrameworkRules *rules;
    int64_t *refused_counts; /* refused layouts of each rule */
    int64_t count;
} Refusals;

static bool count_refusals(const RhLayout *layout, void *user)
{
    Refusals *r = user;
    for (int32_t i = 0; i < r->rules->rules_count; i++)
        r->refused_counts[i] += rh_framework_refuses(&r->rules->rules[i], r->c, layout);
    r->count++;
    return true;
}

/* The remaining rule that refuses most; NULL: none is left. */
static const RhFrameworkRule *next_rule(Refusals *r, int64_t *refused_count)
{
    int32_t most = 0;
    for (int32_t i = 1; i < r->rules->rules_count; i++)
        if (r->refused_counts[i] > r->refused_counts[most])
            most = i;
    *refused_count = r->refused_counts[most];
    r->refused_counts[most] = 0;
    return *refused_count > 0 ? &r->rules->rules[most] : NULL;
}

/* Names the rule that leaves nothing; where none does that alone, the three that refuse most.
 * False: no rule refuses anything. */
static bool fail_by_rules(Refusals *r, const char *which, GError **error)
{
    int64_t refused;
    const RhFrameworkRule *first = next_rule(r, &refused), *other = NULL;
    g_autoptr(GString) notes = g_string_new(NULL);
    if (!first)
        return false;
    if (refused == r->count)
        g_string_printf(notes, "note: that refuses all %" G_GINT64_FORMAT " layouts%s\n", r->count,
                        which);
    else
        g_string_printf(notes,
                        "note: that refuses %" G_GINT64_FORMAT " of the %" G_GINT64_FORMAT
                        " layouts%s\n",
                        refused, r->count, which);
    for (int i = 0; i < 2 && refused < r->count && (other = next_rule(r, &refused)); i++)
        g_string_append_printf(notes, "note: %" G_GINT64_FORMAT " of them as it %s: %s\n", refused,
                               other->why, other->where);
    rh_framework_fail(r->rules, first, notes->str, error);
    return true;
}

/* Blames the framework's rules; false: they are not the cause. */
static bool blame_framework(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                            GError **error)
{
    const RhFrameworkRules *rules = rh_framework_rules(c->stack->framework, NULL);
    if (!rules)
        return false;
    RhStack unruled = *c->stack;
    unruled.framework = NULL;
    unruled.zero_unstaged = 0; /* which a rule refuses with a better reason */
    RhProblem all = *c;
    all.stack = &unruled;
    g_autofree int64_t *counts = g_new0(int64_t, MAX(1, rules->rules_count));
    Refusals r = {c, rules, counts, 0};
    rh_space_walk(&all, o->constraints, o->constraints_count, deadline, count_refusals, &r);
    return fail_by_rules(&r, o->constraints_count ? " that meet these constraints" : "", error);
}

void rh_suggest_no_layout(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                          GError **error)
{
    RhLayout probe = rh_train_default(c);
    g_autoptr(GError) why = NULL;
    if (!rh_train_job_legal(c, error))
        return;
    for (int32_t i = 0; i < o->constraints_count; i++)
        if (o->constraints[i].knob && o->constraints[i].relation == 0)
            rh_knob_store(o->constraints[i].knob, &probe, (int32_t)o->constraints[i].value);
    rh_train_complete(c, &probe);
    int64_t legal = 0;
    rh_space_walk(c, NULL, 0, deadline, count_one, &legal);
    if (!rh_train_legal(c, &probe, &why) && legal > 0) {
        rh_fail(error, RH_ERROR_USAGE, "%s", why->message);
        return;
    }
    if (blame_framework(c, o, deadline, error))
        return;
    if (legal > 0) {
        rh_fail(
            error, RH_ERROR_USAGE,
            "no valid layout meets these constraints together\nnote: without them %" G_GINT64_FORMAT
            " layouts are valid",
            legal);
        return;
    }
    rh_fail(
        error, RH_ERROR_USAGE,
        "no layout is valid: %d GPUs and a global batch of %" G_GINT64_FORMAT
        " samples do not divide\nhelp: every GPU outside a model replica takes part of the batch: "
        "choose a global batch with a common factor with the GPUs",
        c->job.gpus, c->job.global_batch);
}

/* --- the smallest change ---
 *
 * The size of a change is in doublings: |log2(new / old)| of the one number that changes. Giving up
 * a constraint changes no number of the job or the cluster: 0 doublings. Of equal sizes, the change
 * that alters the training least comes first (RhChangeKind). */

typedef struct {
    double doublings;
    RhSmallestChange change; /* no effect yet */
} Change;

typedef struct {
    const RhProblem *c;
    const RhPlanOptions *o;
    RhDeadline deadline;
    GArray *changes; /* Change */
} Search;

/* Memory within which a suggested change is as safe as was asked for. */
static double safe_bytes(const RhProblem *c, const RhPlanOptions *o)
{
    return rh_memory_budget(c, o->constraints, o->constraints_count, o->risk_frac).ranked_bytes;
}

/* Least memory of the question with one number changed, safe or, with `any`, however much. */
static RhSmallestMemory least_with(const Search *s, RhChangeKind kind, int64_t value, bool any)
{
    g_autoptr(RhPlatform) wider = rh_platform_copy(s->c->platform);
    RhProblem changed = *s->c;
    changed.platform = wider;
    if (kind == RH_CHANGE_SEQUENCE)
        changed.job.sequence = value;
    else if (kind == RH_CHANGE_BATCH)
        changed.job.global_batch = value;
    else if (kind == RH_CHANGE_GRADIENTS)
        changed.job.gradient_bytes = (int32_t)value;
    else {
        int32_t each = wider->gpus_per_node;
        changed.job.gpus = (int32_t)value;
        wider->nodes_count = MAX(wider->nodes_count, (changed.job.gpus + each - 1) / each);
    }
    return rh_memory_smallest(&changed, s->o, s->deadline,
                              any ? (double)INFINITY : safe_bytes(&changed, s->o));
}

/* Finds, between `fails` and `fits`, a factor of two apart, the value nearest to `fails` that fits,
 * in eighths of the interval rounded to whole `unit`s. Of *change `value`, `peak_bytes` and
 * `layout` are those of `fits` and become the found one's; `short_value` is `fails` and becomes
 * the nearest to it that was tried. */
static void refine(const Search *s, int64_t unit, RhSmallestChange *change)
{
    int64_t fails = change->short_value, fits = change->value;
    for (int64_t k = 1; k < 8; k++) {
        int64_t value = fails + (fits - fails) * k / 8 / unit * unit;
        if (value == change->short_value)
            continue;
        RhSmallestMemory there = least_with(s, change->kind, value, false);
        if (there.some) {
            change->value = value;
            change->peak_bytes = there.peak_bytes;
            change->layout = there.layout;
            return;
        }
        change->short_value = value;
    }
}

/* Doubles or halves one number until something fits, then searches between the last two values. */
static void try_number(Search *s, RhChangeKind kind, int64_t old, int64_t unit, bool grows)
{
    int64_t low = kind == RH_CHANGE_SEQUENCE ? 128 : 1, before = old;
    for (int i = 0; i < 6; i++) {
        int64_t value = grows ? before * 2 : before / 2;
        if (value < low || value > 1 << 22 || rh_deadline_passed(s->deadline))
            return;
        RhSmallestMemory least = least_with(s, kind, value, false);
        if (least.some) {
            Change found = {.change = {.kind = kind,
                                       .value = value,
                                       .peak_bytes = least.peak_bytes,
                                       .layout = least.layout,
                                       .short_value = before}};
            refine(s, unit, &found.change);
            found.doublings = fabs(log2((double)found.change.value / (double)old));
            g_array_append_val(s->changes, found);
            return;
        }
        before = value;
    }
}

/* Tries gradients in 16 bits where they have more, which halves them. */
static void try_gradients(Search *s)
{
    const int32_t narrow = 2;
    double held = rh_gradient_bytes(s->c);
    if (held <= narrow || s->c->job.lora.rank > 0 || rh_deadline_passed(s->deadline))
        return;
    RhSmallestMemory least = least_with(s, RH_CHANGE_GRADIENTS, narrow, false);
    Change found = {.doublings = log2(held / narrow),
                    .change = {.kind = RH_CHANGE_GRADIENTS,
                               .value = narrow,
                               .peak_bytes = least.peak_bytes,
                               .layout = least.layout}};
    if (least.some)
        g_array_append_val(s->changes, found);
}

/* How much the largest number of GPUs with which nothing fits falls short by. */
static void add_shortfalls(const Search *s)
{
    for (guint i = 0; i < s->changes->len; i++) {
        RhSmallestChange *change = &g_array_index(s->changes, Change, i).change;
        RhSmallestMemory least = {0};
        if (change->kind == RH_CHANGE_GPUS && !rh_deadline_passed(s->deadline))
            least = least_with(s, RH_CHANGE_GPUS, change->short_value, true);
        change->short_value = least.some ? change->short_value : 0;
        change->short_bytes = least.some ? least.peak_bytes : 0;
    }
}

static bool try_constraints(Search *s, const RhConstraint *left, int32_t count,
                            RhSmallestChange change)
{
    RhPlanOptions o = *s->o;
    o.constraints = left;
    o.constraints_count = count;
    RhSmallestMemory least = rh_memory_smallest(s->c, &o, s->deadline, safe_bytes(s->c, &o));
    if (!least.some)
        return false;
    change.peak_bytes = least.peak_bytes;
    change.layout = least.layout;
    Change found = {0, change};
    g_array_append_val(s->changes, found);
    return true;
}

/* Tries without each constraint alone; without all of them only when giving up one is not
 * enough. */
static void try_without_constraints(Search *s)
{
    int32_t count = s->o->constraints_count;
    bool enough = false;
    for (int32_t i = 0; i < count; i++) {
        g_autofree RhConstraint *left = g_memdup2(s->o->constraints, (gsize)count * sizeof *left);
        memmove(left + i, left + i + 1, (gsize)(count - 1 - i) * sizeof *left);
        RhSmallestChange without = {.kind = RH_CHANGE_CONSTRAINT,
                                    .constraint = s->o->constraints[i]};
        enough |= try_constraints(s, left, count - 1, without);
    }
    if (!enough && count > 1)
        try_constraints(s, NULL, 0, (RhSmallestChange){.kind = RH_CHANGE_CONSTRAINTS});
}

/* Tries with states, then with weights, too, in the host's memory, where nothing is said of them. */
static void try_states_on_host(Search *s)
{
    const RhKnob *const *knobs = rh_train_host_knobs();
    int32_t count = s->o->constraints_count;
    g_autoptr(GArray) more = g_array_new(FALSE, FALSE, sizeof(RhConstraint));
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; knobs[k]; k++)
            if (s->o->constraints[i].knob == knobs[k])
                return;
        g_array_append_val(more, s->o->constraints[i]);
    }
    for (int32_t k = 0; knobs[k]; k++) {
        g_array_append_val(more, ((RhConstraint){.knob = knobs[k], .value = RH_PLACE_HOST}));
        if (try_constraints(s, &g_array_index(more, RhConstraint, 0), (int32_t)more->len,
                            (RhSmallestChange){.kind = RH_CHANGE_STATES, .value = k}))
            return;
    }
}

/* Orders constraints: fixed values before limits, then by name. */
static int by_constraint(const RhConstraint *a, const RhConstraint *b)
{
    if ((a->relation == 0) != (b->relation == 0))
        return a->relation == 0 ? -1 : 1;
    g_autofree char *x = rh_constraint_text(a), *y = rh_constraint_text(b);
    return strcmp(x, y);
}

static int by_size(gconstpointer a, gconstpointer b)
{
    const Change *x = a, *y = b;
    if (x->doublings != y->doublings)
        return x->doublings < y->doublings ? -1 : 1;
    if (x->change.kind != y->change.kind)
        return (int)x->change.kind - (int)y->change.kind;
    return x->change.kind == RH_CHANGE_CONSTRAINT
               ? by_constraint(&x->change.constraint, &y->change.constraint)
               : 0;
}

void rh_suggest_smallest_change(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                                RhPlan *plan)
{
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
    Search s = {c, o, deadline, changes};
    int32_t node = c->platform->gpus_per_node;
    plan->states = rh_training_states(c);
    try_without_constraints(&s);
    try_states_on_host(&s);
    try_number(&s, RH_CHANGE_GPUS, c->job.gpus, c->job.gpus % node == 0 ? node : 1, true);
    try_gradients(&s);
    /* more samples help only where there are too few for every GPU to be a replica */
    if (c->job.global_batch < c->job.gpus)
        try_number(&s, RH_CHANGE_BATCH, c->job.global_batch, 1, true);
    try_number(&s, RH_CHANGE_BATCH, c->job.global_batch, 1, false);
    if (!rh_model_sees_pictures(c->model))
        try_number(&s, RH_CHANGE_SEQUENCE, c->job.sequence, 64, false);
    add_shortfalls(&s);
    g_array_sort(changes, by_size);
    plan->timed_out |= rh_deadline_passed(deadline);
    for (guint i = 0; i < changes->len; i++) {
        RhSmallestChange *change =
            g_memdup2(&g_array_index(changes, Change, i).change, sizeof *change);
        g_autofree char *text = rh_quantity_format(change->peak_bytes, RH_QUANTITY_BYTES, 3);
        change->effect =
            g_strdup_printf("needs %s per GPU at the least%s", text,
                            change->kind == RH_CHANGE_GRADIENTS ? "; changes the numerics" : "");
        g_ptr_array_add(plan->changes, change);
    }
}

void rh_suggest_change_free(void *data)
{
    RhSmallestChange *s = data;
    g_free(s->effect);
    g_free(s);
}
