#include "cli/explain_sensitivity.h"

#include <math.h>
#include <string.h>

#include "base/table.h"
#include "cli/explain_replan.h"
#include "platforms/facts.h"
#include "report/format.h"
#include "strategies/search/account.h"
#include "strategies/stack_file.h"

#define CHANGE_FRAC 0.1
#define LEAST_FRAC  5e-5  /* less is no effect */
#define WIN_FRAC    0.002 /* less is a tie */
#define TURN_FRAC   0.01  /* how exactly is told from where on another plan wins */
#define ROWS_MAX    16

/* A constant of the platform, its device or the stack. */
typedef struct {
    char *set; /* its path in --set; owned */
    RhQuantity kind;
    const RhRange *range;
    RhFact fact; /* as it counts now */
} Constant;

typedef struct {
    const RhResult *result;
    GArray *plans; /* RhResultPlan: of the file, and rivals behind them */
    int64_t asked; /* the rank studied */
    const RhInputs *in;
    RhLayout *layouts; /* of every plan, settled; tp 0: not legal any more */
    double *base_s;    /* bound of every plan, nothing changed */
    RhRoom room;       /* nothing changed */
    int64_t first;     /* the rank that wins then */
} Study;

/* The case with one constant changed, and what it is made of. */
typedef struct {
    RhPlatform *hardware, *seen;
    RhStack stack;
    RhCase c;
} Changed;

static void changed_clear(Changed *changed)
{
    rh_platform_free(changed->hardware);
    rh_platform_free(changed->seen);
}

/* False where the constant may not be so. */
static bool change(const Study *s, const Constant *k, double value, Changed *out)
{
    static const char stack[] = "stack.", platform[] = "platform.";
    g_autofree char *text = rh_quantity_format(value, k->kind, 12);
    *out = (Changed){.stack = *s->in->c.stack, .c = s->in->c};
    out->hardware = rh_platform_copy(s->in->hardware);
    bool fine = g_str_has_prefix(k->set, stack)
                    ? rh_stack_set(&out->stack, k->set + strlen(stack), text, NULL)
                    : rh_platform_set(out->hardware, k->set + strlen(platform), text, NULL);
    out->seen = rh_stack_platform(&out->stack, out->hardware);
    out->c.platform = out->seen;
    out->c.stack = &out->stack;
    return fine;
}

static double bound_s(const RhCase *c, const RhLayout *layout)
{
    g_autoptr(RhScreen) screen = rh_screen_new(c);
    return rh_screen_segment_s(screen, layout) * rh_straggler_factor(c);
}

static const RhResultPlan *plan_at(const Study *s, guint i)
{
    return &g_array_index(s->plans, RhResultPlan, i);
}

/* Does the plan need more than it may, and did not before? */
static bool outgrows(const Study *s, const RhCase *c, const RhRoom *room, guint i)
{
    if (room->ranked_bytes == s->room.ranked_bytes &&
        c->stack->reserve_bytes.value == s->in->c.stack->reserve_bytes.value)
        return false;
    double before = plan_at(s, i)->r.memory.peak_bytes;
    double limit = before <= s->room.ranked_bytes ? room->ranked_bytes : room->most_bytes;
    return before <= s->room.most_bytes && rh_train_memory(c, &s->layouts[i]).peak_bytes > limit;
}

/* What a change of a constant does. */
typedef struct {
    int64_t rank; /* the plan that wins: the quickest by more than a tie than that which won */
    double change_frac; /* of the studied plan's step; NAN: the constant may not be so */
    double most_frac;   /* of any plan's */
} Effect;

/* Every plan as it is recorded, times what its bound does. */
static Effect effect_of(const Study *s, const RhCase *c)
{
    RhRoom room = rh_explain_room(s->result, c);
    Effect e = {.rank = s->first};
    double best_s = HUGE_VAL, first_s = HUGE_VAL;
    for (guint i = 0; i < s->plans->len; i++) {
        const RhResultPlan *p = plan_at(s, i);
        double bound = s->base_s[i] > 0 ? bound_s(c, &s->layouts[i]) : 0;
        if (bound <= 0)
            continue;
        double change_frac = bound / s->base_s[i] - 1,
               step_s = p->r.step_time_s * (1 + change_frac);
        if (p->rank == s->asked)
            e.change_frac = change_frac;
        e.most_frac = fmax(e.most_frac, fabs(change_frac));
        if (outgrows(s, c, &room, i))
            continue;
        first_s = p->rank == s->first ? step_s : first_s;
        if (step_s < best_s) {
            best_s = step_s;
            e.rank = p->rank;
        }
    }
    if (best_s >= (1 - WIN_FRAC) * first_s)
        e.rank = s->first;
    return e;
}

static Effect study(const Study *s, const Constant *k, double value)
{
    Effect e = {.rank = s->first, .change_frac = (double)NAN};
    Changed changed = {0};
    if (!rh_range_holds(k->range, value))
        return e;
    if (change(s, k, value, &changed))
        e = effect_of(s, &changed.c);
    changed_clear(&changed);
    return e;
}

/* --- from which value on another plan wins --- */

/* Outwards until another one wins, then in between to a hundredth. */
static bool turning_point(const Study *s, const Constant *k, bool more, double *value,
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

static int64_t quickest(const GArray *plans)
{
    const RhResultPlan *best = &g_array_index(plans, RhResultPlan, 0);
    for (guint i = 1; i < plans->len; i++) {
        const RhResultPlan *p = &g_array_index(plans, RhResultPlan, i);
        best = p->r.step_time_s < best->r.step_time_s ? p : best;
    }
    return best->rank;
}

static void add_constant(GArray *constants, const char *owner, const char *key, RhQuantity kind,
                         const RhRange *range, const RhFact *fact)
{
    if (fact->tag == RH_TAG_NONE || fact->value <= 0)
        return;
    Constant k = {g_strconcat(owner, key, NULL), kind, range, *fact};
    g_array_append_val(constants, k);
}

static void constant_clear(void *data)
{
    g_free(((Constant *)data)->set);
}

/* What a switch of a tier adds to a message, and how many share what leaves it. */
static void add_tiers(GArray *constants, const RhPlatform *p)
{
    for (int32_t t = 0; t < p->tiers_count; t++) {
        g_autofree char *hop = g_strconcat(p->tiers[t].name, ".hop_latency", NULL);
        g_autofree char *shared = g_strconcat(p->tiers[t].name, ".oversubscription", NULL);
        add_constant(constants, "platform.", hop, RH_QUANTITY_S, &rh_range_hop_s,
                     &p->tiers[t].hop_latency_s);
        add_constant(constants, "platform.", shared, RH_QUANTITY_COUNT, &rh_range_oversubscription,
                     &p->tiers[t].oversubscription);
    }
}

/* All that a step could depend on: of the platform and its device, as the stack has them; GEMM tiles;
 * tiers of its network; of the stack. Constant; caller unrefs. */
static GArray *constants_of(const RhInputs *in)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(Constant));
    size_t count = 0;
    g_array_set_clear_func(out, constant_clear);
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (!rh_stack_ignores(in->c.stack, in->hardware, rows[i].key))
            add_constant(out, "platform.", rows[i].key, rows[i].kind, rows[i].range,
                         rh_facts_seen(in->platform, &rows[i]));
    const RhDeviceCurves *curves = &in->platform->device->curves;
    for (int i = 0; i < curves->tiles_count; i++) {
        const RhGemmTile *t = &curves->tiles[i];
        g_autofree char *key = g_strdup_printf("device.gemm.tile.%dx%d", t->m, t->n);
        add_constant(out, "platform.", key, RH_QUANTITY_FRAC, &rh_range_tile, &t->rate_frac);
    }
    add_tiers(out, in->platform);
    const RhStackFact *facts = rh_stack_facts(&count);
    for (size_t i = 0; i < count; i++)
        add_constant(out, "stack.", facts[i].key, facts[i].kind, &facts[i].range,
                     rh_stack_fact(in->c.stack, &facts[i]));
    return out;
}

/* "platform.nic.latency" is read without its owner too. */
static const char *short_key(const char *set)
{
    return g_intern_string(g_str_has_prefix(set, "platform.") ? set + strlen("platform.") : set);
}

static void add_effect(const Study *s, const Constant *k, GArray *effects)
{
    Effect less = study(s, k, k->fact.value * (1 - CHANGE_FRAC));
    Effect more = study(s, k, k->fact.value * (1 + CHANGE_FRAC));
    bool capacity =
        strcmp(k->set, "platform.device.hbm") == 0 || strcmp(k->set, "stack.reserve") == 0;
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
static void begin(Study *s, const RhInputs *in)
{
    for (guint i = 0; i < s->plans->len; i++) {
        s->layouts[i] = plan_at(s, i)->r.layout;
        bool legal = rh_inputs_settle_layout(in, &s->layouts[i], NULL);
        s->base_s[i] = legal ? bound_s(&in->c, &s->layouts[i]) : 0;
    }
    s->room = rh_explain_room(s->result, &in->c);
    s->first = quickest(s->plans);
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
        RhRival rival = {last + 1, r->layout, r->step_time_s};
        if (is_of_file(result, &r->layout))
            continue;
        g_array_append_val(out, rival);
        last++;
    }
    return out;
}

/* Plans of the file, then rivals; borrows what the first own. Caller unrefs. */
static GArray *all_plans(const RhResult *result, const RhCase *c, const GArray *rivals)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhResultPlan));
    g_array_append_vals(out, result->plans->data, result->plans->len);
    for (guint i = 0; i < rivals->len; i++) {
        const RhRival *rival = &g_array_index(rivals, RhRival, i);
        RhResultPlan plan = {.rank = rival->rank,
                             .r = {.layout = rival->layout,
                                   .step_time_s = rival->step_time_s,
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
    g_autofree double *base_s = g_new0(double, plans->len + 1);
    g_autofree RhLayout *layouts = g_new0(RhLayout, plans->len + 1);
    Study s = {.result = result,
               .plans = plans,
               .asked = plan->rank,
               .in = in,
               .layouts = layouts,
               .base_s = base_s};
    g_autoptr(GArray) constants = constants_of(in);
    GArray *effects = g_array_new(FALSE, TRUE, sizeof(RhSensitivity));
    begin(&s, in);
    for (guint i = 0; i < constants->len; i++)
        add_effect(&s, &g_array_index(constants, Constant, i), effects);
    g_array_sort(effects, by_size);
    return effects;
}

static char *effect_text(double frac)
{
    return isnan(frac) ? g_strdup("-") : g_strdup_printf("%+.2f %%", 100 * frac);
}

static void append_table(GString *out, const GArray *effects)
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
    g_string_append(out,
                    "  change of the step by its lower bound (segment graph); - : the constant "
                    "may not\n  be so\n");
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
static void append_rivals(GString *out, const GArray *effects, const GArray *rivals)
{
    for (guint i = 0; i < rivals->len; i++) {
        const RhRival *rival = &g_array_index(rivals, RhRival, i);
        if (!is_told(effects, rival->rank))
            continue;
        g_autofree char *title = rh_layout_title(&rival->layout);
        g_autofree char *step = rh_quantity_format(rival->step_time_s, RH_QUANTITY_S, 4);
        g_autofree char *line = g_strdup_printf("#%" G_GINT64_FORMAT
                                                ", not of the file, of a quick search: %s: %s/step",
                                                rival->rank, title, step);
        g_string_append(out, "  ");
        rh_text_wrap(out, line, 4, 77);
    }
}

void rh_explain_append_sensitivity(GString *out, const GArray *effects, const GArray *rivals)
{
    guint turning = 0;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        turning += e->less_wins || e->more_wins;
    }
    g_string_append_printf(out,
                           "%u of %u constants that move the step change which plan is quickest "
                           "at +-10 %%\n",
                           turning, effects->len);
    append_table(out, effects);
    append_turns(out, effects);
    append_rivals(out, effects, rivals);
}
