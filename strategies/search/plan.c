/* The funnel. Candidates are taken best bound first; a candidate met with its closed-form bound
 * gets its segment bound and goes back; one met with its segment bound joins the batch that is
 * rehearsed. The search ends when no bound left is below (1 - gap) x the K-th best rehearsal. */
#include "strategies/search/plan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/search/account.h"
#include "strategies/search/advice.h"
#include "strategies/search/screen.h"

#define BATCH 8

typedef struct {
    int32_t layout; /* index into the space */
    double key;     /* lower bound, or the objective where it is exact */
    bool segment;   /* key is the segment graph's */
} Candidate;

typedef struct {
    const RhCase *c;
    const RhPlanOptions *o;
    RhPlan *plan;
    GArray *space;    /* RhLayout */
    GArray *memories; /* RhTrainMemory, one per layout of the space */
    RhScreen *screen;
    GArray *heap;   /* Candidate, binary heap, least key first */
    GArray *batch;  /* int32_t layouts */
    GArray *bounds; /* double: segment bound of each of the batch */
    gint64 started_us;
    GError *failed;
} Funnel;

/* --- heap: least key first, then the order of the space --- */

static bool before(const Candidate *a, const Candidate *b)
{
    return a->key != b->key ? a->key < b->key : a->layout < b->layout;
}

static Candidate *at(GArray *heap, guint i)
{
    return &g_array_index(heap, Candidate, i);
}

static void swap(GArray *heap, guint i, guint j)
{
    Candidate t = *at(heap, i);
    *at(heap, i) = *at(heap, j);
    *at(heap, j) = t;
}

static void push(GArray *heap, Candidate c)
{
    g_array_append_val(heap, c);
    for (guint i = heap->len - 1; i > 0 && before(at(heap, i), at(heap, (i - 1) / 2));
         i = (i - 1) / 2)
        swap(heap, i, (i - 1) / 2);
}

static Candidate pop(GArray *heap)
{
    Candidate top = *at(heap, 0);
    *at(heap, 0) = *at(heap, heap->len - 1);
    g_array_set_size(heap, heap->len - 1);
    for (guint i = 0;;) {
        guint least = i;
        for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++)
            if (before(at(heap, child), at(heap, least)))
                least = child;
        if (least == i)
            return top;
        swap(heap, i, least);
        i = least;
    }
}

/* --- stages --- */

static void report(const Funnel *f, const char *stage, int64_t done, int64_t total)
{
    double best =
        f->plan->entries->len ? ((const RhRehearsal *)f->plan->entries->pdata[0])->step_time_s : 0;
    if (f->o->progress)
        f->o->progress(stage, done, total, best, f->o->user);
}

static double memory_limit(const Funnel *f)
{
    double limit = rh_train_memory_capacity(f->c);
    for (int32_t i = 0; i < f->o->constraints_count; i++)
        if (strcmp(f->o->constraints[i].key, "memory") == 0)
            limit = fmin(limit, f->o->constraints[i].value * rh_train_memory_capacity(f->c));
    return limit;
}

static const RhLayout *layout_at(const Funnel *f, int32_t i)
{
    return &g_array_index(f->space, RhLayout, i);
}

static const RhTrainMemory *memory_at(const Funnel *f, int32_t i)
{
    return &g_array_index(f->memories, RhTrainMemory, i);
}

static bool by_memory(const Funnel *f)
{
    return f->o->objective == RH_OBJECTIVE_MEMORY;
}

static double time_left_s(const Funnel *f)
{
    return f->o->timeout_s - (double)(g_get_monotonic_time() - f->started_us) / 1e6;
}

static bool out_of_time(Funnel *f)
{
    f->plan->timed_out |= f->o->timeout_s > 0 && time_left_s(f) <= 0;
    return f->plan->timed_out || f->failed;
}

/* Memory of every layout; the closed-form bound of those that fit. */
static void screen_all(Funnel *f)
{
    double limit = memory_limit(f);
    int32_t count = (int32_t)f->space->len;
    for (int32_t i = 0; i < count; i++) {
        const RhLayout *l = layout_at(f, i);
        RhTrainMemory m = rh_train_memory_with(rh_screen_shard(f->screen, l)->pieces, l);
        g_array_append_val(f->memories, m);
        if (i % 1024 == 0) {
            report(f, "fit", i, count);
            if (out_of_time(f))
                return;
        }
        if (m.peak_bytes > limit)
            continue;
        f->plan->fit_count++;
        f->plan->screened_count++;
        push(f->heap, (Candidate){i, by_memory(f) ? m.peak_bytes : rh_screen_bound_s(f->screen, l),
                                  by_memory(f)});
    }
}

/* --- the best so far --- */

static double objective_of(const Funnel *f, const RhRehearsal *r)
{
    return by_memory(f) ? r->memory.peak_bytes : r->step_time_s;
}

static void keep(Funnel *f, RhRehearsal *r)
{
    GPtrArray *best = f->plan->entries;
    guint i = best->len;
    while (i > 0 && objective_of(f, r) < objective_of(f, best->pdata[i - 1]))
        i--;
    g_ptr_array_insert(best, (gint)i, r);
    if ((int32_t)best->len > f->o->top)
        g_ptr_array_set_size(best, f->o->top);
}

/* The K-th best, as the engine gave it; (double)INFINITY while fewer are known. */
/* The bounds take the members of a collective in lockstep. Where they go at their own pace, a
 * rehearsal may lie below: by 12 % at most in the lab's suites. */
#define ESTIMATE_ALLOWANCE_FRAC 0.15

static bool by_estimate(const Funnel *f)
{
    return f->c->platform->messages.sender != RH_SHARING_NONE;
}

static double cut_off(const Funnel *f)
{
    GPtrArray *best = f->plan->entries;
    if ((int32_t)best->len < f->o->top || f->o->exhaustive)
        return (double)INFINITY;
    const RhRehearsal *last = best->pdata[best->len - 1];
    double allowance = by_estimate(f) ? 1 / (1 - ESTIMATE_ALLOWANCE_FRAC) : 1;
    return by_memory(f)
               ? last->memory.peak_bytes
               : last->step_time_s / rh_straggler_factor(f->c) * (1 - f->o->gap_frac) * allowance;
}

static RhProgram *build_item(int32_t index, void *user, GError **error)
{
    const Funnel *f = user;
    return rh_train_build(f->c, layout_at(f, g_array_index(f->batch, int32_t, index)), error);
}

static void account_batch(Funnel *f, RhRun **runs, char **errors)
{
    for (guint i = 0; i < f->batch->len; i++) {
        const RhLayout *l = layout_at(f, g_array_index(f->batch, int32_t, i));
        if (!runs[i] && out_of_time(f))
            continue; /* cut short: not rehearsed */
        f->plan->rehearsed_count++;
        if (!runs[i]) {
            g_autofree char *text = rh_layout_format(l);
            if (!f->failed)
                rh_fail(&f->failed, RH_ERROR_INTERNAL, "%s: %s", text,
                        errors[i] ? errors[i] : "no result");
            continue;
        }
        RhRehearsal *r = rh_account_new(f->c, l);
        rh_account_run(f->c, r, runs[i]);
        r->bound_closed_s = rh_screen_bound_s(f->screen, l) * rh_straggler_factor(f->c);
        r->bound_segment_s = g_array_index(f->bounds, double, i) * rh_straggler_factor(f->c);
        if (f->o->seen)
            f->o->seen(r, f->o->user);
        keep(f, r);
    }
}

static int32_t jobs_of(const Funnel *f)
{
    return f->o->jobs > 0 ? f->o->jobs : (int32_t)g_get_num_processors();
}

/* What is left of the search's time, for one call of the engine. */
static double rehearsal_timeout_s(const Funnel *f)
{
    return f->o->timeout_s > 0 ? MAX(time_left_s(f), 0.01) : 0;
}

static void rehearse_batch(Funnel *f)
{
    guint n = f->batch->len;
    g_autofree RhRun **runs = g_new0(RhRun *, n);
    g_autofree char **errors = g_new0(char *, n);
    RhEngineOptions options = {.timeout_s = rehearsal_timeout_s(f)};
    rh_engine_run_many((int32_t)n, jobs_of(f), build_item, f->c->platform, &options, f, runs,
                       errors, NULL);
    account_batch(f, runs, errors);
    for (guint i = 0; i < n; i++) {
        rh_run_free(runs[i]);
        g_free(errors[i]);
    }
    g_array_set_size(f->batch, 0);
    g_array_set_size(f->bounds, 0);
}

static RhProgram *build_entry(int32_t index, void *user, GError **error)
{
    const Funnel *f = user;
    return rh_train_build(f->c, &((const RhRehearsal *)f->plan->entries->pdata[index])->layout,
                          error);
}

/* The same step, every byte as a SimGrid flow: must agree with the rehearsal that collapsed idle
 * ones into timers. */
static void replace_entry(Funnel *f, guint i, const RhRun *run)
{
    RhRehearsal *old = f->plan->entries->pdata[i], *r = rh_account_new(f->c, &old->layout);
    rh_account_run(f->c, r, run);
    r->bound_closed_s = old->bound_closed_s;
    r->bound_segment_s = old->bound_segment_s;
    if (fabs(r->step_time_s / old->step_time_s - 1) > 1e-6 && !f->failed)
        rh_fail(&f->failed, RH_ERROR_INTERNAL,
                "a step of %.9g s with idle communication as timers takes %.9g s with flows",
                old->step_time_s, r->step_time_s);
    f->plan->entries->pdata[i] = r;
    rh_rehearsal_free(old);
}

/* Printed plans are performed again from clock 0. */
static void perform_printed(Funnel *f)
{
    guint n = f->plan->entries->len;
    if (n == 0 || f->o->quick || f->failed || f->plan->timed_out)
        return;
    g_autofree RhRun **runs = g_new0(RhRun *, n);
    g_autofree char **errors = g_new0(char *, n);
    RhEngineOptions options = {.collapse_disabled = true, .timeout_s = rehearsal_timeout_s(f)};
    rh_engine_run_many((int32_t)n, jobs_of(f), build_entry, f->c->platform, &options, f, runs,
                       errors, NULL);
    for (guint i = 0; i < n; i++) {
        if (runs[i])
            replace_entry(f, i, runs[i]);
        else if (!out_of_time(f))
            rh_fail(&f->failed, RH_ERROR_INTERNAL, "%s", errors[i] ? errors[i] : "no result");
        rh_run_free(runs[i]);
        g_free(errors[i]);
    }
}

/* Quick answers stop at the segment graph. */
static void keep_quick(Funnel *f, const Candidate *c)
{
    RhRehearsal *r = rh_account_new(f->c, layout_at(f, c->layout));
    double segment_s = rh_screen_segment_s(f->screen, &r->layout);
    r->bound_closed_s = rh_screen_bound_s(f->screen, &r->layout) * rh_straggler_factor(f->c);
    r->bound_segment_s = segment_s * rh_straggler_factor(f->c);
    rh_account_bound(f->c, r, segment_s);
    keep(f, r);
}

static void take(Funnel *f, Candidate c)
{
    if (!c.segment) {
        c.key = fmax(c.key, rh_screen_segment_s(f->screen, layout_at(f, c.layout)));
        c.segment = true;
        f->plan->segments_count++;
        push(f->heap, c);
    } else if (f->o->quick) {
        keep_quick(f, &c);
    } else {
        double bound =
            by_memory(f) ? rh_screen_segment_s(f->screen, layout_at(f, c.layout)) : c.key;
        g_array_append_val(f->batch, c.layout);
        g_array_append_val(f->bounds, bound);
    }
}

static void search(Funnel *f)
{
    while (!out_of_time(f)) {
        bool over = f->heap->len == 0 || at(f->heap, 0)->key >= cut_off(f) ||
                    (f->o->quick && (int32_t)f->plan->entries->len >= f->o->top);
        if (f->batch->len == BATCH || (over && f->batch->len > 0)) {
            rehearse_batch(f);
            report(f, "rehearse", f->plan->rehearsed_count,
                   f->plan->rehearsed_count + (int64_t)f->heap->len);
            continue;
        }
        if (over)
            break;
        take(f, pop(f->heap));
    }
    f->plan->proof_bound_s = f->heap->len && !by_memory(f)
                                 ? at(f->heap, 0)->key * rh_straggler_factor(f->c)
                                 : (double)INFINITY;
    f->plan->estimated = by_estimate(f);
    f->plan->proved = !f->plan->timed_out && !f->o->quick && !by_memory(f) && !f->plan->estimated;
}

/* --- near misses: what would be quicker, if it fitted --- */

static bool same_cut(const RhLayout *a, const RhLayout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp;
}

static void add_near_miss(Funnel *f, int32_t i, double bound_s)
{
    GPtrArray *misses = f->plan->near_misses;
    for (guint k = 0; k < misses->len; k++) {
        RhNearMiss *have = misses->pdata[k];
        if (same_cut(&have->layout, layout_at(f, i))) {
            if (have->bound_s <= bound_s)
                return;
            g_ptr_array_remove_index(misses, k);
            break;
        }
    }
    guint place = misses->len;
    while (place > 0 && ((RhNearMiss *)misses->pdata[place - 1])->bound_s > bound_s)
        place--;
    if (place >= 3)
        return;
    RhNearMiss *miss = g_new0(RhNearMiss, 1);
    *miss = (RhNearMiss){*layout_at(f, i), bound_s, *memory_at(f, i), NULL};
    g_ptr_array_insert(misses, (gint)place, miss);
    if (misses->len > 3)
        g_ptr_array_set_size(misses, 3);
}

static void find_near_misses(Funnel *f)
{
    if (f->plan->entries->len == 0 || by_memory(f))
        return;
    const RhRehearsal *best = f->plan->entries->pdata[0];
    double limit = memory_limit(f);
    for (guint i = 0; i < f->memories->len; i++) {
        double peak = memory_at(f, (int32_t)i)->peak_bytes;
        if (peak <= limit || peak > 1.25 * limit)
            continue;
        double bound =
            rh_screen_bound_s(f->screen, layout_at(f, (int32_t)i)) * rh_straggler_factor(f->c);
        if (bound < best->step_time_s)
            add_near_miss(f, (int32_t)i, bound);
    }
    for (guint k = 0; k < f->plan->near_misses->len; k++) {
        RhNearMiss *miss = f->plan->near_misses->pdata[k];
        miss->reason = rh_advice_memory_reason(&miss->memory, limit);
    }
}

static void near_miss_free(void *data)
{
    RhNearMiss *m = data;
    g_free(m->reason);
    g_free(m);
}

static RhPlan *plan_new(void)
{
    RhPlan *plan = g_new0(RhPlan, 1);
    plan->entries = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    plan->near_misses = g_ptr_array_new_with_free_func(near_miss_free);
    plan->changes = g_ptr_array_new_with_free_func(rh_advice_change_free);
    plan->proof_bound_s = (double)INFINITY;
    return plan;
}

void rh_plan_free(RhPlan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->entries);
    g_ptr_array_unref(plan->near_misses);
    g_ptr_array_unref(plan->changes);
    g_free(plan);
}

RhPlan *rh_plan(const RhCase *c, const RhPlanOptions *options, GError **error)
{
    RhPlanOptions o = *options;
    o.top = o.top > 0 ? o.top : 5;
    g_autoptr(RhPlan) plan = plan_new();
    g_autoptr(RhScreen) screen = rh_screen_new(c);
    g_autoptr(GArray) space = rh_space_list(c, o.constraints, o.constraints_count);
    g_autoptr(GArray) memories = g_array_new(FALSE, FALSE, sizeof(RhTrainMemory));
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(Candidate));
    g_autoptr(GArray) batch = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) bounds = g_array_new(FALSE, FALSE, sizeof(double));
    Funnel f = {.c = c,
                .o = &o,
                .plan = plan,
                .space = space,
                .memories = memories,
                .screen = screen,
                .heap = heap,
                .batch = batch,
                .bounds = bounds,
                .started_us = g_get_monotonic_time()};
    plan->legal_count = space->len;
    if (space->len == 0) {
        rh_advice_no_layout(c, &o, error);
        return NULL;
    }
    screen_all(&f);
    search(&f);
    perform_printed(&f);
    if (f.failed) {
        g_propagate_error(error, f.failed);
        return NULL;
    }
    find_near_misses(&f);
    if (plan->fit_count == 0 && !plan->timed_out)
        rh_advice_smallest_change(c, &o, plan);
    plan->wall_s = (double)(g_get_monotonic_time() - f.started_us) / 1e6;
    return g_steal_pointer(&plan);
}

static const char *const objective_names[] = {"time", "cost", "memory", "energy"};

const char *rh_objective_name(RhObjective objective)
{
    return objective_names[objective];
}
