#include "strategies/search/explain/sensitivity.h"

#include <math.h>
#include <string.h>

#include "base/interned_strings.h"
#include "strategies/search/explain/problem_constants.h"
#include "strategies/search/perturbed_estimate.h"
#include "strategies/train/train.h"

#define CHANGE_FRAC 0.1
#define TURN_FRAC   0.01 /* accuracy of the value at which another plan wins */

typedef struct {
    const RhRecordedPlan *recorded;
    GArray *plans; /* RhResultPlan: of the file, followed by rivals */
    int64_t asked; /* rank of the studied plan */
    const RhProblem *c;
    const RhPlatform *hardware; /* as described */
    RhUnperturbed *before;      /* every plan, unchanged */
    RhMemoryBudget room;        /* unchanged */
    int64_t first;              /* rank that wins without a change */
} Study;

static const RhResultPlan *plan_at(const Study *s, guint i)
{
    return &g_array_index(s->plans, RhResultPlan, i);
}

/* Does the plan need more memory than allowed, and did not before? */
static bool outgrows(const Study *s, const RhProblem *c, const RhMemoryBudget *room, guint i)
{
    if (room->ranked_bytes == s->room.ranked_bytes &&
        c->stack->reserve_bytes.value == s->c->stack->reserve_bytes.value)
        return false;
    double before = plan_at(s, i)->r.memory.peak_bytes;
    double limit = before <= s->room.ranked_bytes ? room->ranked_bytes : room->most_bytes;
    return before <= s->room.most_bytes &&
           rh_train_memory(c, &s->before[i].layout).peak_bytes > limit;
}

/* Effect of a change of a constant on the value that the objective minimises. */
typedef struct {
    int64_t rank;       /* the winning plan: better than the previous winner by more than a tie */
    double change_frac; /* of the studied plan; NAN: the constant cannot have this value */
    double most_frac;   /* of any plan */
} Effect;

static Effect effect_of(const Study *s, const RhProblem *c)
{
    RhMemoryBudget room = rh_replan_memory_budget(s->recorded, c);
    Effect e = {.rank = s->first};
    double best = HUGE_VAL, first = HUGE_VAL;
    for (guint i = 0; i < s->plans->len; i++) {
        const RhResultPlan *p = plan_at(s, i);
        double value =
            s->before[i].bound_s > 0 ? rh_perturbed_value(&s->before[i], c) : (double)NAN;
        if (isnan(value))
            continue;
        double change_frac = value / s->before[i].value - 1;
        if (p->rank == s->asked)
            e.change_frac = change_frac;
        e.most_frac = fmax(e.most_frac, fabs(change_frac));
        if (outgrows(s, c, &room, i))
            continue;
        first = p->rank == s->first ? value : first;
        if (value < best) {
            best = value;
            e.rank = p->rank;
        }
    }
    if (best >= (1 - RH_REPLAN_TIE_FRAC) * first)
        e.rank = s->first;
    return e;
}

static Effect study(const Study *s, const RhConstant *k, double value)
{
    Effect e = {.rank = s->first, .change_frac = (double)NAN};
    RhChangedProblem changed = {0};
    if (!rh_range_holds(k->range, value))
        return e;
    if (rh_problem_change(s->c, s->hardware, k, value, &changed))
        e = effect_of(s, &changed.c);
    rh_changed_problem_clear(&changed);
    return e;
}

/* --- value from which on another plan wins --- */

/* Finds the turning point: doubles the change until another plan wins, then narrows it down to a
 * hundredth. */
static bool turning_point(const Study *s, const RhConstant *k, bool more, double *value,
                          int64_t *rank)
{
    static const double far[] = {1.1, 1.5, 2, 4, 10};
    double same = k->fact.value, other = same;
    *rank = s->first;
    for (size_t i = 0; i < G_N_ELEMENTS(far) && *rank == s->first; i++) {
        double next = more ? k->fact.value * far[i] : k->fact.value / far[i];
        double within = CLAMP(next, k->range->low, k->range->high);
        if (within == other || !(within > 0))
            break;
        same = other;
        other = within;
        *rank = study(s, k, other).rank;
    }
    if (*rank == s->first)
        return false;
    while (fabs(other / same - 1) > TURN_FRAC) {
        double middle = sqrt(other * same);
        int64_t there = study(s, k, middle).rank;
        same = there == s->first ? middle : same;
        other = there == s->first ? other : middle;
        *rank = there == s->first ? *rank : there;
    }
    *value = other;
    return true;
}

double rh_sensitivity_size(const RhSensitivity *e)
{
    double less = isnan(e->less_frac) ? 0 : fabs(e->less_frac);
    return fmax(less, isnan(e->more_frac) ? 0 : fabs(e->more_frac));
}

static int by_size(gconstpointer x, gconstpointer y)
{
    const RhSensitivity *a = x, *b = y;
    double sa = rh_sensitivity_size(a), sb = rh_sensitivity_size(b);
    return sa > sb ? -1 : sa < sb ? 1 : strcmp(a->key, b->key);
}

static int64_t first_of(const Study *s)
{
    guint best = 0;
    for (guint i = 1; i < s->plans->len; i++)
        best = s->before[i].value < s->before[best].value ? i : best;
    return plan_at(s, best)->rank;
}

/* Key of a constant without its owner: "platform.nic.latency" may be written without
 * "platform.". */
static const char *short_key(const char *set)
{
    return rh_intern(g_str_has_prefix(set, "platform.") ? set + strlen("platform.") : set);
}

static void add_effect(const Study *s, const RhConstant *k, GArray *effects)
{
    Effect less = study(s, k, k->fact.value * (1 - CHANGE_FRAC));
    Effect more = study(s, k, k->fact.value * (1 + CHANGE_FRAC));
    bool capacity = g_str_has_suffix(k->set, ".hbm") || strcmp(k->set, "stack.reserve") == 0;
    if (!capacity && fmax(less.most_frac, more.most_frac) < RH_SENSITIVITY_LEAST_FRAC)
        return;
    RhSensitivity e = {.key = short_key(k->set),
                       .fact = k->fact,
                       .kind = k->kind,
                       .less_frac = less.change_frac,
                       .more_frac = more.change_frac,
                       .less_rank = less.rank,
                       .more_rank = more.rank};
    e.less_wins = less.rank != s->first;
    e.more_wins = more.rank != s->first;
    bool alone = s->plans->len < 2;
    e.wins_below = !alone && turning_point(s, k, false, &e.below_value, &e.below_rank);
    e.wins_above = !alone && turning_point(s, k, true, &e.above_value, &e.above_rank);
    if (rh_sensitivity_size(&e) >= RH_SENSITIVITY_LEAST_FRAC || e.wins_below || e.wins_above)
        g_array_append_val(effects, e);
}

/* Begins a study: recorded layouts with today's inputs, and their bounds. */
static bool begin_study(Study *s, GError **error)
{
    for (guint i = 0; i < s->plans->len; i++) {
        const RhRehearsal *r = &plan_at(s, i)->r;
        RhLayout layout = r->layout;
        s->before[i].value = HUGE_VAL;
        if (rh_train_settle_layout(s->c, &layout, NULL) &&
            !rh_unperturbed(s->c, s->recorded->objective, &layout, r->step_time_s, &r->energy,
                            &s->before[i], error))
            return false;
    }
    s->room = rh_replan_memory_budget(s->recorded, s->c);
    s->first = first_of(s);
    return true;
}

static void end(Study *s)
{
    for (guint i = 0; i < s->plans->len; i++)
        rh_unperturbed_clear(&s->before[i]);
}

static bool is_of_file(const RhRecordedPlan *recorded, const RhLayout *layout)
{
    for (guint i = 0; i < recorded->plans->len; i++)
        if (rh_layout_equal(&g_array_index(recorded->plans, RhResultPlan, i).r.layout, layout))
            return true;
    return false;
}

GArray *rh_sensitivity_rivals(const RhProblem *c, const RhRecordedPlan *recorded, GError **error)
{
    g_autoptr(GPtrArray) found = rh_replan_quickest(c, recorded, error);
    if (!found)
        return NULL;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhAlternative));
    int64_t last = 0;
    for (guint i = 0; i < recorded->plans->len; i++)
        last = MAX(last, g_array_index(recorded->plans, RhResultPlan, i).rank);
    for (guint i = 0; i < found->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(found, i);
        RhAlternative rival = {last + 1, r->layout, r->step_time_s, r->energy,
                               r->memory.peak_bytes};
        if (is_of_file(recorded, &r->layout))
            continue;
        g_array_append_val(out, rival);
        last++;
    }
    return out;
}

/* Lists plans of the file, then rivals; borrows what the former own. Caller unrefs. */
static GArray *all_plans(const RhRecordedPlan *recorded, const RhProblem *c, const GArray *rivals)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhResultPlan));
    g_array_append_vals(out, recorded->plans->data, recorded->plans->len);
    for (guint i = 0; i < rivals->len; i++) {
        const RhAlternative *rival = &g_array_index(rivals, RhAlternative, i);
        RhResultPlan plan = {.rank = rival->rank,
                             .r = {.layout = rival->layout,
                                   .step_time_s = rival->step_time_s,
                                   .energy = rival->energy,
                                   .memory = rh_train_memory(c, &rival->layout)}};
        g_array_append_val(out, plan);
    }
    return out;
}

GArray *rh_sensitivity(const RhSensitivityRequest *request, GError **error)
{
    g_autoptr(GArray) plans = all_plans(request->recorded, request->c, request->rivals);
    g_autofree RhUnperturbed *before = g_new0(RhUnperturbed, plans->len + 1);
    Study s = {.recorded = request->recorded,
               .plans = plans,
               .asked = request->rank,
               .c = request->c,
               .hardware = request->hardware,
               .before = before};
    g_autoptr(GArray) constants = rh_problem_constants(s.c, s.hardware);
    g_autoptr(GArray) effects = g_array_new(FALSE, TRUE, sizeof(RhSensitivity));
    bool fine = begin_study(&s, error);
    for (guint i = 0; fine && i < constants->len; i++)
        add_effect(&s, &g_array_index(constants, RhConstant, i), effects);
    end(&s);
    g_array_sort(effects, by_size);
    return fine ? g_steal_pointer(&effects) : NULL;
}
