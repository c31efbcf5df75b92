#include "cli/explain/explain_sensitivity.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "base/table.h"
#include "cli/explain/explain_constants.h"
#include "cli/explain/explain_replan.h"
#include "report/format.h"
#include "strategies/search/perturb.h"

#define CHANGE_FRAC 0.1
#define LEAST_FRAC  5e-5 /* less is no effect */
#define TURN_FRAC   0.01 /* how exactly is told from where on another plan wins */
#define ROWS_MAX    16

typedef struct {
    const RhResult *result;
    GArray *plans; /* RhResultPlan: of the file, and rivals behind them */
    int64_t asked; /* the rank studied */
    const RhInputs *in;
    RhUnperturbed *before; /* every plan, nothing changed */
    RhMemoryBudget room;   /* nothing changed */
    int64_t first;         /* the rank that wins then */
} Study;

static const RhResultPlan *plan_at(const Study *s, guint i)
{
    return &g_array_index(s->plans, RhResultPlan, i);
}

/* Does the plan need more than it may, and did not before? */
static bool outgrows(const Study *s, const RhProblem *c, const RhMemoryBudget *room, guint i)
{
    if (room->ranked_bytes == s->room.ranked_bytes &&
        c->stack->reserve_bytes.value == s->in->c.stack->reserve_bytes.value)
        return false;
    double before = plan_at(s, i)->r.memory.peak_bytes;
    double limit = before <= s->room.ranked_bytes ? room->ranked_bytes : room->most_bytes;
    return before <= s->room.most_bytes &&
           rh_train_memory(c, &s->before[i].layout).peak_bytes > limit;
}

/* Effect of a change of a constant on the value that the objective minimises. */
typedef struct {
    int64_t rank;       /* the plan that wins: better by more than a tie than that which won */
    double change_frac; /* of the studied plan; NAN: the constant may not be so */
    double most_frac;   /* of any plan */
} Effect;

static Effect effect_of(const Study *s, const RhProblem *c)
{
    RhMemoryBudget room = rh_explain_room(s->result, c);
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
    if (best >= (1 - RH_EXPLAIN_TIE_FRAC) * first)
        e.rank = s->first;
    return e;
}

static Effect study(const Study *s, const RhConstant *k, double value)
{
    Effect e = {.rank = s->first, .change_frac = (double)NAN};
    RhChangedCase changed = {0};
    if (!rh_range_holds(k->range, value))
        return e;
    if (rh_explain_change(s->in, k, value, &changed))
        e = effect_of(s, &changed.c);
    rh_changed_case_clear(&changed);
    return e;
}

/* --- from which value on another plan wins --- */

/* Outwards until another one wins, then in between to a hundredth. */
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

static int64_t first_of(const Study *s)
{
    guint best = 0;
    for (guint i = 1; i < s->plans->len; i++)
        best = s->before[i].value < s->before[best].value ? i : best;
    return plan_at(s, best)->rank;
}

/* "platform.nic.latency" is read without its owner too. */
static const char *short_key(const char *set)
{
    return rh_intern(g_str_has_prefix(set, "platform.") ? set + strlen("platform.") : set);
}

static void add_effect(const Study *s, const RhConstant *k, GArray *effects)
{
    Effect less = study(s, k, k->fact.value * (1 - CHANGE_FRAC));
    Effect more = study(s, k, k->fact.value * (1 + CHANGE_FRAC));
    bool capacity = g_str_has_suffix(k->set, ".hbm") || strcmp(k->set, "stack.reserve") == 0;
    if (!capacity && fmax(less.most_frac, more.most_frac) < LEAST_FRAC)
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
    if (size_of(&e) >= LEAST_FRAC || e.wins_below || e.wins_above)
        g_array_append_val(effects, e);
}

/* Layouts as they stand on today's inputs, and their bounds. */
static bool begin(Study *s, GError **error)
{
    for (guint i = 0; i < s->plans->len; i++) {
        const RhRehearsal *r = &plan_at(s, i)->r;
        RhLayout layout = r->layout;
        s->before[i].value = HUGE_VAL;
        if (rh_inputs_settle_layout(s->in, &layout, NULL) &&
            !rh_unperturbed(&s->in->c, s->result->objective, &layout, r->step_time_s, &r->energy,
                            &s->before[i], error))
            return false;
    }
    s->room = rh_explain_room(s->result, &s->in->c);
    s->first = first_of(s);
    return true;
}

static void end(Study *s)
{
    for (guint i = 0; i < s->plans->len; i++)
        rh_unperturbed_clear(&s->before[i]);
}

static bool is_of_file(const RhResult *result, const RhLayout *layout)
{
    for (guint i = 0; i < result->plans->len; i++)
        if (rh_layout_equal(&g_array_index(result->plans, RhResultPlan, i).r.layout, layout))
            return true;
    return false;
}

GArray *rh_explain_rivals(const RhInputs *in, const RhResult *result, GError **error)
{
    g_autoptr(GPtrArray) found = rh_explain_quickest(in, result, error);
    if (!found)
        return NULL;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhRival));
    int64_t last = 0;
    for (guint i = 0; i < result->plans->len; i++)
        last = MAX(last, g_array_index(result->plans, RhResultPlan, i).rank);
    for (guint i = 0; i < found->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(found, i);
        RhRival rival = {last + 1, r->layout, r->step_time_s, r->energy, r->memory.peak_bytes};
        if (is_of_file(result, &r->layout))
            continue;
        g_array_append_val(out, rival);
        last++;
    }
    return out;
}

/* Plans of the file, then rivals; borrows what the first own. Caller unrefs. */
static GArray *all_plans(const RhResult *result, const RhProblem *c, const GArray *rivals)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhResultPlan));
    g_array_append_vals(out, result->plans->data, result->plans->len);
    for (guint i = 0; i < rivals->len; i++) {
        const RhRival *rival = &g_array_index(rivals, RhRival, i);
        RhResultPlan plan = {.rank = rival->rank,
                             .r = {.layout = rival->layout,
                                   .step_time_s = rival->step_time_s,
                                   .energy = rival->energy,
                                   .memory = rh_train_memory(c, &rival->layout)}};
        g_array_append_val(out, plan);
    }
    return out;
}

GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan,
                               const GArray *rivals, GError **error)
{
    g_autoptr(RhInputs) in = rh_result_inputs(result, NULL, NULL, error);
    if (!in)
        return NULL;
    g_autoptr(GArray) plans = all_plans(result, &in->c, rivals);
    g_autofree RhUnperturbed *before = g_new0(RhUnperturbed, plans->len + 1);
    Study s = {.result = result, .plans = plans, .asked = plan->rank, .in = in, .before = before};
    g_autoptr(GArray) constants = rh_explain_constants(in);
    g_autoptr(GArray) effects = g_array_new(FALSE, TRUE, sizeof(RhSensitivity));
    bool fine = begin(&s, error);
    for (guint i = 0; fine && i < constants->len; i++)
        add_effect(&s, &g_array_index(constants, RhConstant, i), effects);
    end(&s);
    g_array_sort(effects, by_size);
    return fine ? g_steal_pointer(&effects) : NULL;
}

/* Texts by objective. */
typedef struct {
    const char *moved, *wins, *change;
} Words;

static const Words words_of[RH_OBJECTIVE_LAST] = {
    [RH_OBJECTIVE_TIME] = {"the step", "is quickest",
                           "the step by its lower bound (segment graph)"},
    [RH_OBJECTIVE_COST] = {"the cost", "is cheapest",
                           "what a step costs, by its lower bound (segment graph)"},
    [RH_OBJECTIVE_MEMORY] = {"the memory", "needs least", "what the fullest GPU needs"},
    [RH_OBJECTIVE_ENERGY] = {"the energy", "takes least",
                             "the energy of a step, by its lower bound (segment graph)"},
};

static char *effect_text(double frac)
{
    return isnan(frac) ? g_strdup("-") : g_strdup_printf("%+.2f %%", 100 * frac);
}

static void append_table(GString *out, const RhInputs *in, const Words *words,
                         const GArray *effects)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    guint shown = 0;
    rh_table_rowf(table, "constant|value|10 %% less|10 %% more");
    for (guint i = 0; i < effects->len && shown < ROWS_MAX; i++, shown++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        if (size_of(e) < LEAST_FRAC)
            break;
        g_autofree char *value = rh_text_fact(&e->fact, e->kind);
        g_autofree char *less = effect_text(e->less_frac);
        g_autofree char *more = effect_text(e->more_frac);
        rh_table_rowf(table, "%s|%s|%s|%s", e->key, value, less, more);
    }
    rh_table_append(table, out, "  ");
    if (shown < effects->len)
        g_string_append_printf(out, "  and %u that move it less\n", effects->len - shown);
    g_autofree char *note = g_strdup_printf(
        "change of %s%s; - : the constant may not be so", words->change,
        rh_platform_devices_count(in->hardware) > 1
            ? ", of kernels by rehearsals with each device's GPUs 10 % quicker and slower"
            : "");
    g_string_append(out, "  ");
    rh_text_wrap(out, note, 2, 79);
}

/* "#2 below 212 GB/s (-53 %)" */
static void append_turn(GString *line, const RhSensitivity *e, bool above)
{
    double value = above ? e->above_value : e->below_value;
    g_autofree char *text = rh_quantity_format(value, e->kind, 3);
    g_string_append_printf(line, "%s #%" G_GINT64_FORMAT " %s %s (%+.0f %%)",
                           above && e->wins_below ? "," : "", above ? e->above_rank : e->below_rank,
                           above ? "above" : "below", text, 100 * (value / e->fact.value - 1));
}

static void append_turns(GString *out, const GArray *effects)
{
    bool any = false;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        g_autoptr(GString) line = g_string_new(e->key);
        if (!e->wins_below && !e->wins_above)
            continue;
        if (!any)
            g_string_append(out, "another layout wins with\n");
        any = true;
        g_string_append_c(line, ':');
        if (e->wins_below)
            append_turn(line, e, false);
        if (e->wins_above)
            append_turn(line, e, true);
        g_string_append(out, "  ");
        rh_text_wrap(out, line->str, 4, 77);
    }
    if (!any)
        g_string_append(out, "no other layout wins with a constant between a tenth of its value "
                             "and\nten times that\n");
}

static bool is_told(const GArray *effects, int64_t rank)
{
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        if (e->less_rank == rank || e->more_rank == rank ||
            (e->wins_below && e->below_rank == rank) || (e->wins_above && e->above_rank == rank))
            return true;
    }
    return false;
}

/* Layouts that the file does not name. */
static void append_rivals(GString *out, RhObjective objective, const GArray *effects,
                          const GArray *rivals)
{
    for (guint i = 0; i < rivals->len; i++) {
        const RhRival *rival = &g_array_index(rivals, RhRival, i);
        if (!is_told(effects, rival->rank))
            continue;
        g_autofree char *title = rh_layout_title(&rival->layout);
        RhRehearsal r = {.step_time_s = rival->step_time_s,
                         .energy = rival->energy,
                         .memory.peak_bytes = rival->peak_bytes};
        g_autofree char *worth = rh_report_worth(objective, &r);
        g_autofree char *line =
            g_strdup_printf("#%" G_GINT64_FORMAT ", not of the file, of a quick search: %s: %s",
                            rival->rank, title, worth);
        g_string_append(out, "  ");
        rh_text_wrap(out, line, 4, 77);
    }
}

void rh_explain_append_sensitivity(GString *out, const RhInputs *in, RhObjective objective,
                                   const GArray *effects, const GArray *rivals)
{
    const Words *words = &words_of[objective];
    guint turning = 0;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        turning += e->less_wins || e->more_wins;
    }
    g_string_append_printf(out, "%u of %u constants that move %s change which plan %s at +-10 %%\n",
                           turning, effects->len, words->moved, words->wins);
    append_table(out, in, words, effects);
    append_turns(out, effects);
    append_rivals(out, objective, effects, rivals);
}
