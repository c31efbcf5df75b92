/* The funnel. Candidates are taken best bound first: one met with the work of its slots gets the sums of
 * its closed form and goes back, one met with these the whole of it, one met with that its segment bound; one met with its segment bound joins
 * the batch that is rehearsed. The search ends when no bound left is below (1 - gap) x the K-th best
 * rehearsal. */
#include "strategies/search/plan.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "sim/engine/apart.h"
#include "strategies/search/account.h"
#include "strategies/search/advice.h"
#include "strategies/search/foresight.h"
#include "strategies/search/heap.h"
#include "strategies/search/near.h"
#include "strategies/search/plan_answer.h"
#include "strategies/search/room.h"
#include "strategies/search/screen.h"
#include "strategies/search/sensitive.h"
#include "strategies/train/least.h"

#define BATCH       8
#define ALONE_BATCH 2 /* one entry is looked for */
/* --quick rehearses a batch of the best by bound, where a step is as small as this. */
#define QUICK_TASKS_MAX 2e6
/* What one rehearsal of a search may have; simulate takes more (RH_TRAIN_TASKS_MAX). */
#define SEARCH_TASKS_MAX 1.2e7
#define SEARCH_FRAC      0.97 /* of the time there is: in the rest go the tables, half a GB of them */

/* One search over some of the layouts. */
typedef struct {
    GArray *heap;       /* RhCandidate */
    GPtrArray *entries; /* RhRehearsal*, best first, at most `top` */
    int32_t top, batch;
    double worth;    /* what is not below this is of no interest; INFINITY for all */
    double foreseen; /* nor, by what the batch is expected to bring, below this */
} Race;

typedef struct {
    const RhCase *c;
    const RhPlanOptions *o;
    RhPlan *plan;
    GArray *space;    /* RhLayout, of the space what fits or nearly does */
    GArray *memories; /* RhTrainMemory, of each of them */
    RhScreen *screen;
    RhApart *apart; /* where rehearsals run */
    RhRoom room;
    Race main, fuller; /* what keeps within the room, and what fits but fills more */
    Race *race;        /* the one that is run */
    GArray *aside;     /* RhCandidate: too large for a quick rehearsal */
    GArray *batch;     /* int32_t layouts */
    GArray *bounds;    /* double: segment bound of each of the batch */
    GArray *foreseen;  /* RhForeseen: the entries, and what the batch is expected to bring */
    GArray *waiting;   /* RhCandidate: those that the batch is expected to beat by their kind */
    RhDeadline deadline;
    GError *failed;
    GError *lost; /* why the first layout was lost */
} Funnel;

/* --- stages --- */

static void report(const Funnel *f, const char *stage, int64_t done, int64_t total)
{
    double best =
        f->plan->entries->len ? ((const RhRehearsal *)f->plan->entries->pdata[0])->step_time_s : 0;
    if (f->o->progress)
        f->o->progress(stage, done, total, best, f->o->user);
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

static bool by_energy(const Funnel *f)
{
    return f->o->objective == RH_OBJECTIVE_ENERGY;
}

static bool out_of_time(Funnel *f)
{
    f->plan->timed_out |= rh_deadline_passed(f->deadline);
    return f->plan->timed_out || f->failed;
}

/* Into the race of what keeps within the room, or of what only fits. */
static void enter(Funnel *f, int32_t i)
{
    double peak = memory_at(f, i)->peak_bytes;
    Race *race = peak <= f->room.ranked_bytes ? &f->main : &f->fuller;
    double key = by_memory(f) ? peak : rh_screen_work_s(f->screen, layout_at(f, i));
    f->plan->fit_count++;
    f->plan->screened_count++;
    f->plan->roomy_count += race == &f->main;
    rh_heap_push(race->heap, (RhCandidate){i, key, by_memory(f) ? RH_KEY_SEGMENT : RH_KEY_WORK});
}

/* Memory of a layout; the work of its slots where it fits. What neither fits nor nearly does is
 * forgotten. */
static bool screen_one(const RhLayout *asked, void *user)
{
    Funnel *f = user;
    RhTrainMemory m;
    RhLayout settled = *asked, *l = &settled;
    if (l->again_layers_count == RH_AGAIN_LEAST)
        rh_recompute_least(rh_screen_shard(f->screen, l)->pieces, rh_screen_shape(f->screen, l),
                           f->room.ranked_bytes, l);
    if (l->recompute != asked->recompute && asked->recompute == RH_RECOMPUTE_SELECTIVE)
        return !out_of_time(f); /* full recomputation of nothing is the same */
    if (f->plan->legal_count++ % 64 == 0)
        report(f, "fit", f->plan->fit_count, f->plan->legal_count);
    if (rh_screen_memory_within(f->screen, l, (1 + RH_NEAR_FRAC) * f->room.most_bytes, &m)) {
        g_array_append_vals(f->space, l, 1);
        g_array_append_val(f->memories, m);
        if (m.peak_bytes <= f->room.most_bytes)
            enter(f, (int32_t)f->space->len - 1);
    }
    return !out_of_time(f);
}

/* Every legal layout. Where nothing keeps within the room, all that fits is ranked. */
static void screen_all(Funnel *f)
{
    rh_space_walk(f->c, f->o->constraints, f->o->constraints_count, f->deadline, screen_one, f);
    if (out_of_time(f) || f->main.heap->len > 0)
        return;
    GArray *empty = f->main.heap;
    f->main.heap = f->fuller.heap;
    f->fuller.heap = empty;
    f->room.ranked_bytes = f->room.most_bytes;
    f->plan->roomy_count = f->plan->fit_count;
}

/* --- the best so far --- */

static double objective_of(const Funnel *f, const RhRehearsal *r)
{
    return by_memory(f) ? r->memory.peak_bytes : by_energy(f) ? r->energy.total_j : r->step_time_s;
}

/* The entry of the layout's kind; -1 when there is none, or every variant has a row. */
static int32_t entry_of_kind(const Funnel *f, const RhLayout *l)
{
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; !f->o->variants && i < entries->len; i++)
        if (rh_layout_same_kind(&((const RhRehearsal *)entries->pdata[i])->layout, l))
            return (int32_t)i;
    return -1;
}

/* Takes `r` into the entries where it is among the best, or frees it. */
static void keep(Funnel *f, RhRehearsal *r)
{
    GPtrArray *best = f->race->entries;
    int32_t same = entry_of_kind(f, &r->layout);
    if (same >= 0 && objective_of(f, best->pdata[same]) <= objective_of(f, r)) {
        rh_rehearsal_free(r);
        return;
    }
    if (same >= 0)
        g_ptr_array_remove_index(best, (guint)same);
    guint i = best->len;
    while (i > 0 && objective_of(f, r) < objective_of(f, best->pdata[i - 1]))
        i--;
    g_ptr_array_insert(best, (gint)i, r);
    if ((int32_t)best->len > f->race->top)
        g_ptr_array_set_size(best, f->race->top);
}

/* The bounds take the members of a collective in lockstep. Where they go at their own pace, a
 * rehearsal may lie below: by 12 % at most in the lab's suites. */
#define ESTIMATE_ALLOWANCE_FRAC 0.15

static bool by_estimate(const Funnel *f)
{
    return f->c->platform->messages.sender != RH_SHARING_NONE;
}

/* A layout whose bound is not below this cannot better `r` by more than the gap. */
static double worth_of_step(const Funnel *f, double step_s)
{
    double allowance = by_estimate(f) ? 1 / (1 - ESTIMATE_ALLOWANCE_FRAC) : 1;
    return step_s * (1 - f->o->gap_frac) * allowance;
}

static double worth_of(const Funnel *f, const RhRehearsal *r)
{
    return by_memory(f) ? r->memory.peak_bytes
                        : worth_of_step(f, r->step_time_s / rh_straggler_factor(f->c));
}

/* The K-th best, as the engine gave it; what the race is worth while fewer are known. Bounds are of
 * time: by energy the slowest of the entries counts. */
static double cut_off(const Funnel *f)
{
    const GPtrArray *best = f->race->entries;
    if (f->o->exhaustive)
        return (double)INFINITY;
    if ((int32_t)best->len < f->race->top)
        return f->race->worth;
    double worth = worth_of(f, best->pdata[best->len - 1]);
    for (guint i = 0; by_energy(f) && i < best->len; i++)
        worth = fmax(worth, worth_of(f, best->pdata[i]));
    return fmin(f->race->worth, worth);
}

/* Can the candidate do no better than the entry of its kind? */
static bool beaten_by_kind(const Funnel *f, const RhCandidate *c)
{
    int32_t same = f->o->exhaustive ? -1 : entry_of_kind(f, layout_at(f, c->layout));
    return same >= 0 && c->key >= worth_of(f, f->race->entries->pdata[same]);
}

/* Into the batch, and what may come of it into what is foreseen. Quick answers, energies and peaks are
 * taken by whole batches. */
static void join_batch(Funnel *f, const RhCandidate *c, double bound_s)
{
    g_array_append_val(f->batch, c->layout);
    g_array_append_val(f->bounds, bound_s);
    if (f->o->exhaustive || f->o->quick || by_memory(f) || by_energy(f))
        return;
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; f->batch->len == 1 && i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        rh_foresee(f->foreseen, &r->layout, worth_of(f, r), f->o->variants);
    }
    double worth = worth_of_step(f, bound_s * RH_FORESEEN_OVER_BOUND);
    rh_foresee(f->foreseen, layout_at(f, c->layout), worth, f->o->variants);
    f->race->foreseen = rh_foreseen_worth(f->foreseen, f->race->top);
}

/* Is it better asked for when the batch is done? */
static bool waits(const Funnel *f, const RhCandidate *c)
{
    return !f->o->variants &&
           c->key >= rh_foreseen_kind_worth(f->foreseen, layout_at(f, c->layout));
}

static void leave_batch(Funnel *f)
{
    for (guint i = 0; i < f->waiting->len; i++)
        rh_heap_push(f->race->heap, g_array_index(f->waiting, RhCandidate, i));
    GArray *all[] = {f->batch, f->bounds, f->foreseen, f->waiting};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_array_set_size(all[i], 0);
    f->race->foreseen = (double)INFINITY;
}

static RhProgram *build_noted(const void *layout, void *user, GError **error)
{
    return rh_train_build(user, layout, error);
}

/* No room for the rehearsal, which was tried twice: left out, and said so. */
static bool is_lost(Funnel *f, const GError *error, double bound_s)
{
    if (!g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
        return false;
    f->plan->lost_count++;
    f->plan->lost_bound_s = fmin(f->plan->lost_bound_s, bound_s);
    if (!f->lost)
        f->lost = g_error_copy(error);
    return true;
}

static void account_batch(Funnel *f, RhRun **runs, GError **errors)
{
    for (guint i = 0; i < f->batch->len; i++) {
        const RhLayout *l = layout_at(f, g_array_index(f->batch, int32_t, i));
        if (!runs[i] && out_of_time(f))
            continue; /* cut short: not rehearsed */
        if (!runs[i] && is_lost(f, errors[i], g_array_index(f->bounds, double, i)))
            continue;
        f->plan->rehearsed_count++;
        if (!runs[i]) {
            g_autofree char *text = rh_layout_format(l);
            if (!f->failed)
                g_propagate_prefixed_error(&f->failed, g_error_copy(errors[i]), "%s: ", text);
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
    return f->o->timeout_s > 0 ? MAX(rh_deadline_left_s(f->deadline), 0.01) : 0;
}

static void report_item(int32_t done, void *user)
{
    const Funnel *f = user;
    report(f, "rehearse", f->plan->rehearsed_count + done,
           f->plan->rehearsed_count + f->batch->len + (int64_t)f->race->heap->len);
}

static void rehearse_batch(Funnel *f)
{
    guint n = f->batch->len;
    g_autofree RhRun **runs = g_new0(RhRun *, n);
    g_autofree GError **errors = g_new0(GError *, n);
    g_autofree RhLayout *layouts = g_new(RhLayout, n);
    for (guint i = 0; i < n; i++)
        layouts[i] = *layout_at(f, g_array_index(f->batch, int32_t, i));
    RhEngineOptions options = {.timeout_s = rehearsal_timeout_s(f)};
    rh_apart_run(f->apart, (int32_t)n, jobs_of(f), layouts, &options, runs, errors, report_item, f);
    account_batch(f, runs, errors);
    for (guint i = 0; i < n; i++) {
        rh_run_free(runs[i]);
        g_clear_error(&errors[i]);
    }
    leave_batch(f);
}

static void replace_entry(Funnel *f, guint i, const RhRun *run)
{
    RhRehearsal *old = f->race->entries->pdata[i], *r = rh_account_new(f->c, &old->layout);
    rh_account_run(f->c, r, run);
    r->bound_closed_s = old->bound_closed_s;
    r->bound_segment_s = old->bound_segment_s;
    f->race->entries->pdata[i] = r;
    rh_rehearsal_free(old);
}

/* A step that is so far apart from what the search went by is sensitive, as the same step shows when it
 * is nudged, or one of the two is wrong: a bug. */
static void judge_apart(Funnel *f, const RhRehearsal *performed, double found_s)
{
    double apart_frac = performed->step_time_s / found_s - 1;
    f->plan->apart_frac = fmax(f->plan->apart_frac, fabs(apart_frac));
    if (fabs(apart_frac) <= RH_PLAN_AGREEMENT_FRAC || out_of_time(f))
        return;
    RhSpread spread;
    RhEngineOptions options = {.timeout_s = rehearsal_timeout_s(f)};
    g_autoptr(GError) error = NULL;
    if (!rh_step_spread(f->apart, &performed->layout, found_s / rh_straggler_factor(f->c), &options,
                        jobs_of(f), &spread, &error)) {
        f->plan->proved = false;
        if (!out_of_time(f) && !g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
            f->failed = g_steal_pointer(&error);
        return;
    }
    f->plan->spread_frac = fmax(f->plan->spread_frac, spread.most_frac - spread.least_frac);
    if (rh_spread_explains(spread, apart_frac))
        return;
    g_autofree char *text = rh_layout_format(&performed->layout);
    rh_fail(&f->failed, RH_ERROR_INTERNAL,
            "%s: with every byte a flow the step takes %.9g times what it takes with idle "
            "communication as timers",
            text, 1 + apart_frac);
}

/* Best first again: times that moved may have changed places. Equal ones keep theirs. */
static void sort_entries(const Funnel *f)
{
    void **entries = f->race->entries->pdata;
    for (guint i = 1; i < f->race->entries->len; i++)
        for (guint k = i; k > 0 && objective_of(f, entries[k]) < objective_of(f, entries[k - 1]);
             k--) {
            void *later = entries[k];
            entries[k] = entries[k - 1];
            entries[k - 1] = later;
        }
}

/* Printed plans once more, every byte as a SimGrid flow: must agree with the rehearsal that
 * collapsed idle ones into timers. */
static void perform_printed(Funnel *f)
{
    guint n = f->race->entries->len;
    if (n == 0 || f->o->quick || f->failed || f->plan->timed_out)
        return;
    g_autofree RhRun **runs = g_new0(RhRun *, n);
    g_autofree GError **errors = g_new0(GError *, n);
    g_autofree RhLayout *layouts = g_new(RhLayout, n);
    for (guint i = 0; i < n; i++)
        layouts[i] = ((const RhRehearsal *)f->race->entries->pdata[i])->layout;
    RhEngineOptions options = {.collapse_disabled = true, .timeout_s = rehearsal_timeout_s(f)};
    rh_apart_run(f->apart, (int32_t)n, jobs_of(f), layouts, &options, runs, errors, NULL, f);
    for (guint i = 0; i < n; i++) {
        if (runs[i]) {
            double found_s = ((const RhRehearsal *)f->race->entries->pdata[i])->step_time_s;
            replace_entry(f, i, runs[i]);
            judge_apart(f, f->race->entries->pdata[i], found_s);
        } else if (!out_of_time(f) && g_error_matches(errors[i], RH_ERROR, RH_ERROR_NO_ANSWER))
            f->plan->unperformed_count++;
        else if (!out_of_time(f) && !f->failed)
            f->failed = g_error_copy(errors[i]);
        rh_run_free(runs[i]);
        g_clear_error(&errors[i]);
    }
    sort_entries(f);
    f->plan->proved &= rh_plan_sensitive_frac(f->plan) <= RH_PLAN_SENSITIVE_MOST_FRAC;
}

/* A candidate known by its bounds alone, after all others. */
static void keep_quick(Funnel *f, const RhCandidate *c)
{
    RhRehearsal *r = rh_account_new(f->c, layout_at(f, c->layout));
    double segment_s = rh_screen_segment_s(f->screen, &r->layout);
    r->bound_closed_s = rh_screen_bound_s(f->screen, &r->layout) * rh_straggler_factor(f->c);
    r->bound_segment_s = segment_s * rh_straggler_factor(f->c);
    rh_account_bound(f->c, r, segment_s);
    g_ptr_array_add(f->race->entries, r);
}

/* More tasks than a search rehearses: left out, and said so. */
static void leave_out(Funnel *f, const RhCandidate *c)
{
    f->plan->too_large_count++;
    f->plan->too_large_bound_s = fmin(f->plan->too_large_bound_s, c->key);
}

/* The next better bound of a candidate, with which it goes back. */
static void refine(Funnel *f, RhCandidate c)
{
    static double (*const bound_s[])(RhScreen *,
                                     const RhLayout *) = {[RH_KEY_SUMS] = rh_screen_sums_s,
                                                          [RH_KEY_CLOSED] = rh_screen_bound_s,
                                                          [RH_KEY_SEGMENT] = rh_screen_segment_s};
    c.kind++;
    f->plan->segments_count += c.kind == RH_KEY_SEGMENT;
    c.key = fmax(c.key, bound_s[c.kind](f->screen, layout_at(f, c.layout)));
    rh_heap_push(f->race->heap, c);
}

static void take(Funnel *f, RhCandidate c)
{
    const RhLayout *l = layout_at(f, c.layout);
    if (c.kind >= RH_KEY_CLOSED && beaten_by_kind(f, &c))
        return;
    if (c.kind >= RH_KEY_CLOSED && waits(f, &c)) {
        g_array_append_val(f->waiting, c);
    } else if (c.kind != RH_KEY_SEGMENT) {
        refine(f, c);
    } else if (f->o->quick && rh_screen_tasks(f->screen, l) > QUICK_TASKS_MAX) {
        g_array_append_val(f->aside, c);
    } else if (rh_screen_tasks(f->screen, l) > SEARCH_TASKS_MAX) {
        leave_out(f, &c);
    } else {
        join_batch(f, &c, by_memory(f) ? rh_screen_segment_s(f->screen, l) : c.key);
    }
}

static void run_race(Funnel *f, Race *race)
{
    f->race = race;
    while (!out_of_time(f)) {
        const GArray *heap = race->heap;
        bool over = heap->len == 0 || rh_heap_least(heap) >= fmin(cut_off(f), race->foreseen) ||
                    (f->o->quick && f->plan->rehearsed_count >= race->batch);
        if ((int32_t)f->batch->len == race->batch || (over && f->batch->len > 0)) {
            rehearse_batch(f);
            continue;
        }
        if (over)
            break;
        take(f, rh_heap_pop(race->heap));
    }
    leave_batch(f);
}

/* A quick answer ends with what the bounds say of the next kinds. */
static void fill_with_bounds(Funnel *f)
{
    for (guint i = 0; i < f->aside->len; i++)
        rh_heap_push(f->race->heap, g_array_index(f->aside, RhCandidate, i));
    while ((int32_t)f->race->entries->len < f->race->top && f->race->heap->len > 0 &&
           !out_of_time(f)) {
        RhCandidate c = rh_heap_pop(f->race->heap);
        if (entry_of_kind(f, layout_at(f, c.layout)) >= 0)
            continue;
        if (c.kind == RH_KEY_SEGMENT)
            keep_quick(f, &c);
        else
            take(f, c);
    }
}

/* The least closed form of what is left. */
static double least_left(Funnel *f)
{
    GArray *heap = f->main.heap;
    while (heap->len > 0 && rh_heap_top(heap)->kind < RH_KEY_CLOSED && !out_of_time(f))
        refine(f, rh_heap_pop(heap));
    return rh_heap_least(heap);
}

static void search(Funnel *f)
{
    run_race(f, &f->main);
    double out = fmin(f->plan->too_large_bound_s, f->plan->lost_bound_s);
    double left = fmin(least_left(f), out);
    f->plan->proof_bound_s =
        isfinite(left) && !by_memory(f) ? left * rh_straggler_factor(f->c) : (double)INFINITY;
    f->plan->estimated = by_estimate(f);
    f->plan->proved = !f->plan->timed_out && !f->o->quick && !by_memory(f) && !by_energy(f) &&
                      !f->plan->estimated && out >= cut_off(f);
    if (f->o->quick)
        fill_with_bounds(f);
    perform_printed(f);
}

/* The quickest of what fits but leaves less room, where it gains anything on the best. */
static void search_fuller(Funnel *f)
{
    if (f->main.entries->len == 0 || f->o->quick || f->o->best_alone || by_memory(f) ||
        out_of_time(f))
        return;
    f->fuller.worth = worth_of(f, f->main.entries->pdata[0]);
    run_race(f, &f->fuller);
    const RhRehearsal *best = f->main.entries->pdata[0];
    GPtrArray *found = f->fuller.entries;
    if (found->len == 0 || ((RhRehearsal *)found->pdata[0])->step_time_s >= best->step_time_s)
        return; /* nobody is shown it */
    perform_printed(f);
    if (((RhRehearsal *)found->pdata[0])->step_time_s < best->step_time_s)
        f->plan->fuller = g_ptr_array_steal_index(found, 0);
}

RhPlan *rh_plan(const RhCase *c, const RhPlanOptions *options, GError **error)
{
    RhPlanOptions o = *options;
    o.top = o.top > 0 ? o.top : 5;
    o.risk_frac = o.risk_frac > 0 ? o.risk_frac : RH_RISK_FRAC;
    RhDeadline deadline = rh_deadline_in(SEARCH_FRAC * o.timeout_s);
    gint64 started_us = g_get_monotonic_time();
    g_autoptr(RhPlan) plan = rh_plan_new();
    g_autoptr(RhScreen) screen = rh_screen_new(c);
    screen->deadline = deadline;
    g_autoptr(RhApart) apart = rh_apart_new(build_noted, sizeof(RhLayout), c->platform,
                                            screen->alone, screen->folded, (void *)(uintptr_t)c);
    g_autoptr(GArray) space = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    g_autoptr(GArray) memories = g_array_new(FALSE, FALSE, sizeof(RhTrainMemory));
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    g_autoptr(GArray) fuller_heap = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    g_autoptr(GPtrArray) fuller = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    g_autoptr(GArray) aside = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    g_autoptr(GArray) batch = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) bounds = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) foreseen = g_array_new(FALSE, FALSE, sizeof(RhForeseen));
    g_autoptr(GArray) waiting = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    Funnel f = {.c = c,
                .o = &o,
                .plan = plan,
                .space = space,
                .memories = memories,
                .screen = screen,
                .apart = apart,
                .room = rh_room(c, o.constraints, o.constraints_count, o.risk_frac),
                .main = {heap, plan->entries, o.top, o.best_alone ? ALONE_BATCH : BATCH,
                         o.worth_s > 0 ? o.worth_s / rh_straggler_factor(c) : (double)INFINITY,
                         (double)INFINITY},
                .fuller = {fuller_heap, fuller, 1, ALONE_BATCH, (double)INFINITY, (double)INFINITY},
                .aside = aside,
                .batch = batch,
                .bounds = bounds,
                .foreseen = foreseen,
                .waiting = waiting,
                .deadline = deadline};
    screen_all(&f);
    if (plan->legal_count == 0 && !out_of_time(&f)) {
        rh_advice_no_layout(c, &o, deadline, error);
        return NULL;
    }
    search(&f);
    search_fuller(&f);
    if (!f.failed && plan->entries->len == 0 && !plan->timed_out)
        f.failed = g_steal_pointer(&f.lost); /* nothing else to tell */
    g_clear_error(&f.lost);
    if (f.failed) {
        g_propagate_error(error, f.failed);
        return NULL;
    }
    if (plan->entries->len > 0 && !by_memory(&f) && !plan->timed_out && !o.best_alone)
        rh_near_misses(c, screen, space, memories, f.room.most_bytes, plan);
    if (plan->fit_count == 0 && !plan->timed_out && !o.best_alone)
        rh_advice_smallest_change(c, &o, deadline, plan);
    plan->ranked_bytes = f.room.ranked_bytes;
    plan->wall_s = (double)(g_get_monotonic_time() - started_us) / 1e6;
    return g_steal_pointer(&plan);
}
