#include "strategies/search/unsearched_changes.h"

#include <math.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/framework_rules.h"
#include "strategies/launch/launch.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/search/rehearsals/steady_state.h"

#define MORE_LAYERS 8 /* of a model chunk, that are recomputed so that other numbers fit, at most */

/* A candidate while it is rehearsed. */
typedef struct {
    RhUnsearched o;
    RhProblem c;
    RhLayout layout;
    RhSteadyStateParts parts; /* second is 0: it is rehearsed whole */
    int32_t runs, numbers[2]; /* numbers in the queue */
} Trial;

struct RhUnsearchedTrials {
    const RhProblem *c;
    const RhPlanOptions *options;
    const RhRehearsal *best;
    bool unsafe;
    RhRehearsalQueue *queue; /* NULL: none is rehearsed */
    RhDeadline deadline;
    RhLayout layout; /* layout of the row that they are compared with */
    GArray *trials;  /* Trial, the first of the row itself */
};
typedef struct RhUnsearchedTrials Search;

/* --- candidates --- */

static bool is_asked_for(const RhPlanOptions *options, const RhKnob *knob)
{
    for (int32_t i = 0; i < options->constraints_count; i++)
        if (options->constraints[i].knob == knob)
            return true;
    return false;
}

static Trial *add_trial(Search *s, RhUnsearched o)
{
    Trial trial = {.o = o, .c = *s->c, .layout = s->best->layout};
    g_array_append_val(s->trials, trial);
    return &g_array_index(s->trials, Trial, s->trials->len - 1);
}

/* Does it fit as surely as the ranked layouts? */
static bool has_room(const Search *s, const Trial *t, double *peak_bytes, double *room_bytes)
{
    const RhPlanOptions *o = s->options;
    RhMemoryBudget room =
        rh_memory_budget(&t->c, o->constraints, o->constraints_count, o->risk_frac);
    RhTrainMemory m = rh_train_memory(&t->c, &t->layout);
    *peak_bytes = m.peak_bytes;
    *room_bytes = s->unsafe ? room.most_bytes : room.ranked_bytes;
    return m.peak_bytes <= *room_bytes;
}

/* Knobs that differ in the second layout, as "cp4,dp16". Caller frees. */
static char *change_of(const RhLayout *from, const RhLayout *to)
{
    g_autoptr(GString) change = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *before = rh_knob_text(knob, from), *after = rh_knob_text(knob, to);
        if (after && g_strcmp0(before, after) != 0)
            g_string_append_printf(change, "%s%s%s%s", change->len ? "," : "", knob->key,
                                   knob->degree ? "" : "=", after);
    }
    return g_string_free(g_steal_pointer(&change), FALSE);
}

/* Adds the smallest change of a knob that fits, or else the last. */
static void add_knob(Search *s, const RhKnob *knob)
{
    Trial *t = add_trial(s, (RhUnsearched){knob->key, .text = knob->outside});
    RhLayout next = s->best->layout;
    double peak_bytes, room_bytes;
    for (int32_t step = 0; knob->outside_next(s->c, &next, step); step++) {
        t->layout = next;
        if (has_room(s, t, &peak_bytes, &room_bytes))
            break;
        next = s->best->layout;
    }
    if (rh_layout_equal(&t->layout, &s->best->layout))
        t->o.why = g_strdup_printf("#1 %s", knob->outside_lacks);
    else
        t->o.change = change_of(&s->best->layout, &t->layout);
}

/* Returns the rule that keeps the knob at one value in the launches of the stack's framework that
 * are written here; NULL: there is none. */
static const RhFrameworkRule *limit_of(const RhFrameworkRules *rules, const RhKnob *knob)
{
    for (int32_t i = 0; rules && i < rules->rules_count; i++)
        if (rules->rules[i].launch_only && rules->rules[i].knobs == UINT64_C(1)
                                                                        << (knob - rh_knobs))
            return &rules->rules[i];
    return NULL;
}

/* Returns whether the layout is legal, of all GPUs, and refused for this rule alone. */
static bool breaks_only(const RhProblem *c, const RhFrameworkRules *rules,
                        const RhFrameworkRule *rule, const RhLayout *l)
{
    for (int32_t i = 0; i < rules->rules_count; i++)
        if (rh_framework_refuses(&rules->rules[i], c, l) != (&rules->rules[i] == rule))
            return false;
    return rh_train_legal(c, l, NULL);
}

/* Adds the first row with another value of a knob that launches leave at one: of the values that
 * fit, or else of all, the one with the least bound. */
static void add_limited(Search *s, const RhKnob *knob, const RhFrameworkRule *rule)
{
    const RhFrameworkRules *rules = rh_framework_rules(s->c->stack->framework, NULL);
    g_autoptr(RhBoundCache) cache = rh_bound_new(s->c);
    Trial best = {.c = *s->c}, t = best;
    double least_s = HUGE_VAL, peak_bytes, room_bytes;
    bool fits = false;
    for (int32_t value = knob->low - 1; knob->next(knob, s->c, &s->best->layout, &value);) {
        t.layout = s->best->layout;
        rh_knob_store(knob, &t.layout, value);
        t.layout.dp = s->c->job.gpus / (t.layout.tp * t.layout.pp * t.layout.cp);
        t.layout = rh_train_canonical(s->c, &t.layout);
        if (!breaks_only(s->c, rules, rule, &t.layout))
            continue;
        bool room = has_room(s, &t, &peak_bytes, &room_bytes);
        double bound_s = rh_bound_work_s(cache, &t.layout);
        if (room < fits || (room == fits && bound_s >= least_s))
            continue;
        least_s = bound_s;
        fits = room;
        best = t;
    }
    if (least_s == HUGE_VAL)
        return; /* the model has no use for it */
    add_trial(s, (RhUnsearched){knob->key, .text = knob->about,
                                .change = change_of(&s->best->layout, &best.layout),
                                .limit = g_strdup_printf("%s %s", rules->title, rule->why)})
        ->layout = best.layout;
}

static Trial *add_numbers(Search *s, const char *key, const char *text, const char *value)
{
    return add_trial(s, (RhUnsearched){key, .text = text, .numerics = true,
                                       .change = g_strdup_printf("%s=%s", key, value)});
}

static double peak_of(const RhProblem *c, RhDtype format)
{
    return c->platform->device->peak_flops_per_s[format].value;
}

/* Adds the first training recipe of each format that the device multiplies faster than the
 * job's. */
static void add_recipes(Search *s)
{
    bool seen[RH_DTYPE_LAST] = {false};
    for (const RhRecipe *const *r = rh_recipes(); *r; r++) {
        RhDtype format = (*r)->linear;
        RhProblem changed = *s->c;
        changed.job.recipe = *r;
        if (seen[format] || peak_of(s->c, format) <= peak_of(s->c, s->c->job.recipe->linear) ||
            !rh_train_job_legal(&changed, NULL))
            continue;
        seen[format] = true;
        add_numbers(s, "dtype", "another number format", (*r)->name)->c = changed;
    }
}

static void list(Search *s)
{
    const RhPlanOptions *o = s->options;
    g_autoptr(RhSpace) space =
        rh_space_new(s->c, o->constraints, o->constraints_count, s->deadline);
    const RhFrameworkRules *rules = rh_framework_rules(s->c->stack->framework, NULL);
    const RhKnob *searched = rh_space_instead(space, &s->best->layout);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        const RhFrameworkRule *limit = limit_of(rules, knob);
        if (is_asked_for(o, knob) || knob == searched)
            continue;
        if (limit)
            add_limited(s, knob, limit);
        else if (knob->outside)
            add_knob(s, knob);
    }
    int32_t held = s->c->job.gradient_bytes;
    if ((held > 0 ? held : s->c->stack->gradient_bytes) > 2)
        add_numbers(s, "gradients", "gradients in 16 bits", "bf16")->c.job.gradient_bytes = 2;
    if (!s->c->job.moments || s->c->job.moments == &rh_adam_moments_fp32)
        add_numbers(s, "moments", "moments in 16 bits", "bf16")->c.job.moments =
            &rh_adam_moments_bf16;
    if (!s->c->job.narrow_weights && s->c->job.recipe->weight_copy_bytes > 0)
        add_numbers(s, "weights", "weights held in the linear layers' format", "narrow")
            ->c.job.narrow_weights = true;
    add_recipes(s);
}

/* --- rehearsals --- */

/* Reason why the stack's framework, which can run the first row, cannot run the trial's formats;
 * NULL: it can, or cannot run the row either. Caller frees. */
static char *untold(const Search *s, const Trial *t)
{
    const char *framework = t->c.stack->framework;
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunch) before = NULL, after = NULL;
    if (!t->o.numerics || !framework ||
        !(before = rh_launch_new(framework, s->c, &s->best->layout, NULL)) ||
        (after = rh_launch_new(framework, &t->c, &t->layout, &error)))
        return NULL;
    return g_strndup(error->message, strcspn(error->message, "\n"));
}

/* Reason why the layout cannot run, however much memory there is; NULL: it can. Caller frees. */
static char *refused(const Search *s, const Trial *t)
{
    if (!rh_train_job_legal(&t->c, NULL) || !rh_train_legal(&t->c, &t->layout, NULL))
        return g_strdup("not valid for #1");
    const RhFrameworkRules *rules = rh_framework_rules(t->c.stack->framework, NULL);
    const RhFrameworkRule *rule = rh_framework_refusal(rules, &t->c, &t->layout);
    if (rule && !t->o.limit)
        return g_strdup_printf("%s %s", rules->title, rule->why);
    return untold(s, t);
}

/* Says how the layout lacks memory; NULL: it fits. Caller frees. */
static char *lacks_room(const Search *s, const Trial *t)
{
    double peak_bytes, room_bytes;
    if (has_room(s, t, &peak_bytes, &room_bytes))
        return NULL;
    double capacity_bytes = rh_train_memory_capacity(&t->c);
    g_autofree char *needs =
        g_strdup_printf("not timed: #1 with it needs %.1f of %.1f GiB", peak_bytes / RH_GIB_BYTES,
                        capacity_bytes / RH_GIB_BYTES);
    if (peak_bytes > capacity_bytes)
        return g_steal_pointer(&needs);
    return g_strdup_printf("%s, and a margin of %.1f GiB is kept free", needs,
                           (capacity_bytes - room_bytes) / RH_GIB_BYTES);
}

static bool is_row_itself(const Search *s, const Trial *t)
{
    return t == &g_array_index(s->trials, Trial, 0);
}

/* Recomputes more layers of each model chunk, the fewest with which other numbers fit, and says so. */
static void recompute_more(const Search *s, Trial *t)
{
    double peak_bytes, room_bytes;
    RhLayout first = t->layout;
    if (!t->o.numerics || first.recompute != RH_RECOMPUTE_FULL ||
        first.recomputed_layers_count <= 0)
        return;
    for (int16_t more = 0; more <= MORE_LAYERS; more++) {
        for (int32_t g = 0; g < first.recomputed_layers_count; g++)
            t->layout.recomputed_layers[g] = (int16_t)(first.recomputed_layers[g] + more);
        if (more > 0 && !rh_train_legal(&t->c, &t->layout, NULL))
            break;
        if (!has_room(s, t, &peak_bytes, &room_bytes))
            continue;
        if (more > 0)
            t->o.beside = g_strdup_printf("%d more layer%s of a model chunk recomputed", more,
                                          more == 1 ? "" : "s");
        return;
    }
    t->layout = first;
}

/* The first row's step, estimated in the same way as the trial's: from the trial's own rehearsals,
 * or from the search; 0: not known. */
static double row_s(const Search *s, const Trial *t)
{
    if (t->o.r)
        return t->o.r->step_time_s;
    bool performed = s->best->searched_s > 0;
    bool by_fewer = performed ? s->best->searched_by_fewer : s->best->told_by_fewer;
    return by_fewer != (t->parts.second > 0) ? 0
           : performed                       ? s->best->searched_s
                                             : s->best->step_time_s;
}

/* Parts of the step, if few micro-batches suffice to extrapolate it. */
static RhSteadyStateParts parts_of(const Trial *t)
{
    RhSteadyStateParts parts;
    g_autoptr(RhBoundCache) cache = rh_bound_new(&t->c);
    bool packets = t->c.platform->messages.sender != RH_SHARING_NONE;
    bool whole = packets || rh_bound_tasks(cache, &t->layout) < RH_STEADY_TASKS_LEAST ||
                 !rh_steady_state_parts(&t->c, &t->layout, &parts);
    return whole ? (RhSteadyStateParts){0} : parts;
}

static void begin_trial(const Search *s, Trial *t)
{
    if (!t->o.why && (t->o.why = refused(s, t)))
        t->o.cannot = true;
    if (!t->o.why)
        recompute_more(s, t);
    if (!t->o.why)
        t->o.why = lacks_room(s, t);
    if (t->o.why)
        return;
    t->layout = rh_train_canonical(&t->c, &t->layout);
    t->parts = parts_of(t);
    if (is_row_itself(s, t) && row_s(s, t) > 0)
        return;
    bool timed = s->deadline.t_end_us != 0;
    RhEngineOptions options = {.timeout_s = timed ? MAX(rh_deadline_left_s(s->deadline), 0.01) : 0};
    int64_t microbatches[2] = {t->parts.first, t->parts.second};
    for (t->runs = 0; t->runs < (t->parts.second > 0 ? 2 : 1); t->runs++)
        t->numbers[t->runs] = rh_rehearsal_queue_add(
            s->queue, &t->c, &(RhRehearsalNote){t->layout, microbatches[t->runs]}, &options);
}

static void clear_unsearched(gpointer data)
{
    RhUnsearched *o = data;
    g_free(o->change);
    g_free(o->beside);
    g_free(o->limit);
    g_free(o->why);
    rh_rehearsal_free(o->r);
}

/* Sets the trial's result from the queue; leaves it where time or memory ran out. */
static void take_result(const Search *s, Trial *t)
{
    RhRun *runs[2] = {NULL};
    bool parts = t->parts.second > 0, all = t->runs > 0;
    for (int32_t i = 0; i < t->runs; i++)
        all &= (runs[i] = rh_rehearsal_queue_take(s->queue, t->numbers[i], NULL)) != NULL;
    g_autoptr(RhRun) whole = parts && all ? rh_steady_state_run(runs[0], runs[1], t->parts) : NULL;
    if (all) {
        t->o.r = rh_run_metrics_new(&t->c, &t->layout);
        rh_run_metrics_run(&t->c, t->o.r, whole ? whole : runs[0]);
        t->o.r->told_by_fewer = parts;
    }
    rh_run_free(runs[0]);
    rh_run_free(runs[1]);
}

/* Compares with the first row, estimated in the same way, so that errors of extrapolation
 * cancel. */
static void compare_with_row(const Search *s)
{
    Trial *row = &g_array_index(s->trials, Trial, 0);
    double same_s = row_s(s, row);
    for (guint i = 1; same_s > 0 && i < s->trials->len; i++) {
        RhUnsearched *o = &g_array_index(s->trials, Trial, i).o;
        if (o->r)
            o->gain_frac = 1 - o->r->step_time_s / same_s;
    }
}

static void trial_clear(gpointer data)
{
    clear_unsearched(&((Trial *)data)->o);
}

static void begin_all(Search *s, const RhRehearsal *best)
{
    s->best = best;
    s->layout = best->layout;
    g_array_set_size(s->trials, 0);
    add_trial(s, (RhUnsearched){0}); /* the row itself */
    list(s);
    for (guint i = 0; s->queue && best->events_count > 0 && i < s->trials->len; i++)
        begin_trial(s, &g_array_index(s->trials, Trial, i));
}

RhUnsearchedTrials *rh_unsearched_begin(const RhProblem *c, const RhPlanOptions *options,
                                        const RhRehearsal *best, bool unsafe,
                                        RhRehearsalQueue *queue, RhDeadline deadline)
{
    Search *s = g_new(Search, 1);
    *s = (Search){.c = c,
                  .options = options,
                  .unsafe = unsafe,
                  .queue = queue,
                  .deadline = deadline,
                  .trials = g_array_new(FALSE, FALSE, sizeof(Trial))};
    g_array_set_clear_func(s->trials, trial_clear);
    begin_all(s, best);
    return s;
}

GArray *rh_unsearched_end(RhUnsearchedTrials *s, const RhPlan *plan)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhUnsearched));
    g_array_set_clear_func(out, clear_unsearched);
    if (plan->entries->len == 0)
        return out; /* the machine refused all */
    s->best = plan->entries->pdata[0];
    if (!rh_layout_equal(&s->layout, &s->best->layout))
        begin_all(s, s->best);
    if (s->queue)
        rh_rehearsal_queue_wait(s->queue);
    for (guint i = 0; i < s->trials->len; i++)
        take_result(s, &g_array_index(s->trials, Trial, i));
    compare_with_row(s);
    for (guint i = 1; i < s->trials->len; i++) {
        Trial *t = &g_array_index(s->trials, Trial, i);
        g_array_append_val(out, t->o);
        t->o = (RhUnsearched){0};
    }
    return out;
}

void rh_unsearched_free(RhUnsearchedTrials *s)
{
    if (!s)
        return;
    g_array_unref(s->trials);
    g_free(s);
}

GArray *rh_unsearched_new(const RhProblem *c, const RhPlanOptions *options, const RhPlan *plan,
                          bool told)
{
    if (plan->entries->len == 0)
        return g_array_new(FALSE, FALSE, sizeof(RhUnsearched));
    g_autoptr(RhUncontendedTimes) alone = rh_uncontended_times_new(c->platform);
    g_autoptr(RhFoldedTable) folded = rh_fold_cache_new();
    int32_t jobs = options->jobs > 0 ? options->jobs : (int32_t)g_get_num_processors();
    g_autoptr(RhRehearsalQueue) queue =
        told ? rh_rehearsal_queue_new(c->platform, alone, folded, jobs) : NULL;
    g_autoptr(RhUnsearchedTrials) trials =
        rh_unsearched_begin(c, options, plan->entries->pdata[0], plan->unsafe, queue,
                            rh_deadline_in(options->timeout_s));
    return rh_unsearched_end(trials, plan);
}
