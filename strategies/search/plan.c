/* Searches the layouts of a problem. Candidates are taken best bound first. One with open knobs is
 * opened; otherwise its next bound is computed and it is put back: after the work of its slots the
 * sums of its closed form, after these the whole closed form, then the segment graph, then, where
 * messages share links, its segment bound. A candidate with all bounds joins the batch that is
 * rehearsed. The search ends when no bound left is below (1 - gap) x the first row's step, or the
 * K-th's where every row is proved. */
#include "strategies/search/plan.h"

#include <math.h>

#include "base/error.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/search/infeasible_suggestions.h"
#include "strategies/search/plan_answer.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/train/recompute_fewest_layers.h"

#define BATCH       8
#define ALONE_BATCH 2    /* one of several entries that are searched side by side */
#define ONLY_BATCH  1    /* for one of many questions: the others keep the processors busy */
#define SEARCH_FRAC 0.97 /* of the time limit; freeing half a GB of tables takes the rest */

/* --- stages --- */

/* Queues the layout with those within the memory budget, or with those that only fit. */
static void queue_layout(RhFunnel *f, const RhLayout *l, double peak)
{
    int32_t i = rh_layout_store_count(f->space) - 1;
    RhCandidateQueue *race = peak <= f->room.ranked_bytes ? &f->main : &f->over_budget;
    double key = rh_funnel_by_memory(f) ? peak : rh_bound_work_s(f->cache, l);
    f->plan->fit_count++;
    f->plan->screened_count++;
    f->plan->within_budget_count += race == &f->main;
    rh_candidate_heap_push(
        race->heap, (RhCandidate){i, key, rh_funnel_by_memory(f) ? RH_KEY_SEGMENT : RH_KEY_WORK});
}

/* Screens a layout by memory, and computes the work of its slots where it fits. Layouts that
 * neither fit nor nearly do are dropped. */
static bool screen_one(const RhLayout *asked, void *user)
{
    RhFunnel *f = user;
    RhTrainMemory m;
    RhLayout settled = *asked, *l = &settled;
    if (l->recomputed_layers_count == RH_RECOMPUTED_FEWEST)
        rh_recompute_fewest_layers(rh_bound_shard(f->cache, l)->model_cost,
                                   rh_bound_pipeline_profile(f->cache, l), f->room.ranked_bytes, l);
    if (l->recompute != asked->recompute && asked->recompute == RH_RECOMPUTE_SELECTIVE)
        return !rh_funnel_out_of_time(f); /* the same as full recomputation, which is tried as
                                           * well */
    if (f->plan->legal_count++ % 64 == 0)
        rh_funnel_report(f, "checking memory", f->plan->fit_count, f->plan->legal_count);
    if (rh_bound_memory_within(f->cache, l, f->listed_bytes, &m)) {
        rh_layout_store_add(f->space, l, m.peak_bytes);
        if (m.peak_bytes <= f->room.most_bytes)
            queue_layout(f, l, m.peak_bytes);
    }
    return !rh_funnel_out_of_time(f);
}

/* Ranks all layouts that fit, where none is within the memory budget. */
static void rank_fuller(RhFunnel *f)
{
    GArray *empty = f->main.heap;
    f->main.heap = f->over_budget.heap;
    f->over_budget.heap = empty;
    f->room.ranked_bytes = f->room.most_bytes;
    f->plan->unsafe = f->main.heap->len > 0;
    f->plan->within_budget_count = f->plan->fit_count;
}

/* Screens every legal layout of the usual space. */
static void screen_all(RhFunnel *f)
{
    rh_space_walk(f->c, f->o->constraints, f->o->constraints_count, f->deadline, screen_one, f);
    if (rh_funnel_out_of_time(f) || f->main.heap->len > 0)
        return;
    rank_fuller(f);
}

/* Completes a quick answer with entries known by bounds, of kinds that are not among the rows. */
static void fill_with_bounds(RhFunnel *f)
{
    for (guint i = 0; i < f->aside->len; i++)
        rh_candidate_heap_push(f->race->heap, g_array_index(f->aside, RhCandidate, i));
    while ((int32_t)f->race->entries->len < f->race->top && f->race->heap->len > 0 &&
           !rh_funnel_out_of_time(f)) {
        RhCandidate c = rh_candidate_heap_pop(f->race->heap);
        RhLayout l = rh_funnel_layout(f, c.layout);
        if (c.kind >= RH_KEY_WORK && rh_funnel_entry_of_kind(f, &l) >= 0)
            continue;
        if (c.kind >= RH_KEY_SEGMENT || rh_funnel_is_too_large(f, &c))
            rh_funnel_keep_quick(f, &c);
        else
            rh_funnel_examine_candidate(f, c);
    }
}

/* Did the search end without a layout within the memory budget? */
static bool found_none(RhFunnel *f)
{
    return !f->o->listed && !f->o->unlike && !rh_funnel_out_of_time(f) &&
           f->main.entries->len == 0 && f->main.heap->len == 0;
}

/* Lists the cuts again, and all that fits or nearly does. */
static void list_fuller(RhFunnel *f)
{
    RhPlan *plan = f->plan;
    f->listed_bytes = (1 + RH_NEAR_FRAC) * f->room.most_bytes;
    plan->cuts_count = plan->cuts_opened_count = plan->chunks_opened_count = 0;
    plan->legal_count = plan->fit_count = plan->screened_count = 0;
    rh_funnel_list_cuts(f);
    rh_funnel_run(f, &f->main);
}

static void search_main(RhFunnel *f)
{
    rh_funnel_run(f, &f->main);
    if (found_none(f) && f->listed_bytes < f->room.most_bytes)
        list_fuller(f);
    if (!found_none(f) || f->over_budget.heap->len == 0)
        return;
    rank_fuller(f);
    rh_funnel_run(f, &f->main);
}

/* Least closed form of the remaining candidates; for a plan that is only compared with others, their least bound. */
static double least_left(RhFunnel *f)
{
    GArray *heap = f->main.heap;
    bool compared = f->o->unperformed || f->o->worth_s > 0;
    while (!compared && heap->len > 0 && rh_candidate_heap_top(heap)->kind < RH_KEY_CLOSED &&
           !rh_funnel_out_of_time(f)) {
        RhCandidate c = rh_candidate_heap_pop(heap);
        if (c.kind < RH_KEY_WORK)
            rh_funnel_open(f, &c, NULL);
        else
            rh_funnel_refine_bound(f, c);
    }
    return rh_candidate_heap_least(heap);
}

/* May a layout that was lost be the best? Bounds are of time: for other objectives nothing is known
 * without a rehearsal. */
static bool lost_may_win(const RhFunnel *f)
{
    bool known = !rh_funnel_by_memory(f) && !rh_funnel_by_energy(f) && !rh_funnel_by_estimate(f);
    return f->plan->lost_count > 0 && f->main.entries->len > 0 &&
           (!known || f->plan->lost_bound_s < rh_funnel_worth_of(f, f->main.entries->pdata[0]));
}

static void search_and_prove(RhFunnel *f)
{
    search_main(f);
    f->plan->lost_may_win = lost_may_win(f);
    double out = fmin(f->plan->too_large_bound_s, f->plan->lost_bound_s);
    double left = fmin(least_left(f), out);
    f->plan->proof_bound_s = isfinite(left) && !rh_funnel_by_memory(f)
                                 ? left * rh_straggler_factor(f->c)
                                 : (double)INFINITY;
    f->plan->estimated = rh_funnel_by_estimate(f);
    f->plan->proved = !f->plan->timed_out && !f->o->quick && !rh_funnel_by_memory(f) &&
                      !rh_funnel_by_energy(f) && !f->plan->estimated &&
                      !f->plan->steady_disagrees && out >= rh_funnel_cut_off(f);
    if (f->o->quick)
        fill_with_bounds(f);
}

/* Searches the fastest layout that fits but exceeds the memory budget; it must gain at least twice
 * the gap, as less is uncertain. */
static void search_fuller(RhFunnel *f)
{
    if (f->main.entries->len == 0 || f->o->quick || f->o->best_alone || rh_funnel_by_memory(f) ||
        rh_funnel_out_of_time(f))
        return;
    f->over_budget.worth = (1 - f->o->gap_frac) * rh_funnel_worth_of(f, f->main.entries->pdata[0]);
    rh_funnel_run(f, &f->over_budget);
    f->race = &f->main;
}

static void show_fuller(RhFunnel *f)
{
    const GPtrArray *best = f->main.entries;
    GPtrArray *found = f->over_budget.entries;
    if (found->len > 0 && best->len > 0 &&
        ((RhRehearsal *)found->pdata[0])->step_time_s <
            ((const RhRehearsal *)best->pdata[0])->step_time_s)
        f->plan->over_budget = g_ptr_array_steal_index(found, 0);
}

/* Searches the plan's secondary answers while its first row is simulated in full. */
static void search_beside(RhFunnel *f)
{
    if (!f->o->unperformed)
        rh_funnel_begin_performance(f);
    if (f->o->outside && f->main.entries->len > 0 && !f->failed && !f->plan->timed_out)
        f->outside = rh_unsearched_begin(f->c, f->o, f->main.entries->pdata[0], f->plan->unsafe,
                                         f->queue, f->deadline);
    rh_funnel_fill_rows(f);
    rh_funnel_search_families(f);
    search_fuller(f);
    if (!f->o->unperformed)
        rh_funnel_perform_best(f);
    show_fuller(f);
}

/* --- a search from beginning to end --- */

typedef struct {
    RhPlanOptions o;
    RhUncontendedTimes *alone; /* NULL: rehearsals use the bound cache's */
    RhFoldedTable *folded;
    RhFunnel f;
} Search;

static RhPlanOptions settled(const RhPlanOptions *asked)
{
    RhPlanOptions o = *asked;
    o.top = o.top > 0 ? o.top : 5;
    o.risk_frac = o.risk_frac > 0 ? o.risk_frac : RH_RISK_FRAC;
    return o;
}

static RhCandidateQueue race_new(GPtrArray *entries, int32_t top, int32_t batch, double worth)
{
    return (RhCandidateQueue){.heap = g_array_new(FALSE, FALSE, sizeof(RhCandidate)),
                              .entries = entries,
                              .top = top,
                              .batch = batch,
                              .worth = worth,
                              .foreseen = (double)INFINITY};
}

static void races_begin(RhFunnel *f)
{
    const RhPlanOptions *o = f->o;
    double worth = o->worth_s > 0 ? o->worth_s / rh_straggler_factor(f->c) : (double)INFINITY;
    GDestroyNotify free_entry = (GDestroyNotify)rh_rehearsal_free;
    f->main = race_new(f->plan->entries, o->top,
                       o->unperformed  ? ONLY_BATCH
                       : o->best_alone ? ALONE_BATCH
                                       : BATCH,
                       worth);
    f->over_budget =
        race_new(g_ptr_array_new_with_free_func(free_entry), 1, ALONE_BATCH, (double)INFINITY);
    f->over_budget.gap_frac = RH_BESIDE_GAP_FRAC;
    f->behind = g_ptr_array_new_with_free_func(free_entry);
}

/* Starts the process pool for rehearsals, while this process is small. */
static void begin_processes(Search *s)
{
    const RhProblem *c = s->f.c;
    RhBoundCache *cache = s->f.cache;
    rh_ignore_failure(rh_train_job_legal(c, NULL)); /* only reads the files that builders need */
    if (cache->c != c) {                            /* its tables are of other links */
        s->alone = rh_uncontended_times_new(c->platform);
        s->folded = rh_fold_cache_new();
    }
    RhUncontendedTimes *alone = s->alone ? s->alone : cache->alone;
    RhFoldedTable *folded = s->folded ? s->folded : cache->folded;
    s->f.apart = rh_isolated_run_new(rh_rehearsal_build, sizeof(RhRehearsalNote), c->platform,
                                     alone, folded, (void *)(uintptr_t)c);
    if (!s->o.unperformed || s->o.outside)
        s->f.queue = rh_rehearsal_queue_new(c->platform, alone, folded, rh_funnel_jobs(&s->f));
}

static void lists_begin(RhFunnel *f)
{
    f->aside = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    f->waiting = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    f->batch = g_array_new(FALSE, FALSE, sizeof(RhBatchItem));
    f->cuts_least_s = f->chunks_least_s = (double)INFINITY;
    f->foreseen = g_array_new(FALSE, FALSE, sizeof(RhExpectedValue));
}

static void lists_clear(RhFunnel *f)
{
    GArray *arrays[] = {f->aside, f->waiting, f->batch, f->foreseen};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
}

static void search_begin(Search *s, const RhProblem *c, const RhPlanOptions *options, RhPlan *plan)
{
    RhDeadline deadline = rh_deadline_in(SEARCH_FRAC * options->timeout_s);
    *s = (Search){.o = settled(options)};
    s->f = (RhFunnel){.c = c, .o = &s->o, .plan = plan, .deadline = deadline};
    RhFunnel *f = &s->f;
    f->cache =
        options->kept ? rh_bound_for_batch(g_steal_pointer(options->kept), c) : rh_bound_new(c);
    f->cache->deadline = deadline;
    begin_processes(s);
    if (!s->o.listed) {
        f->layouts = rh_space_new(c, s->o.constraints, s->o.constraints_count, deadline);
        rh_space_leave_out(f->layouts, s->o.unlike);
    }
    f->space = rh_layout_store_new();
    f->room = rh_memory_budget(c, s->o.constraints, s->o.constraints_count, s->o.risk_frac);
    /* what exceeds the budget is only shown beside rows, or where nothing else fits */
    f->listed_bytes = s->o.best_alone && !s->o.listed && !s->o.exhaustive
                          ? f->room.ranked_bytes
                          : (1 + RH_NEAR_FRAC) * f->room.most_bytes;
    races_begin(f);
    lists_begin(f);
}

static void search_clear(Search *s)
{
    RhFunnel *f = &s->f;
    lists_clear(f);
    g_array_unref(f->main.heap);
    g_array_unref(f->over_budget.heap);
    g_ptr_array_unref(f->over_budget.entries);
    g_ptr_array_unref(f->behind);
    rh_layout_store_free(f->space);
    rh_space_free(f->layouts);
    rh_isolated_run_free(f->apart);
    rh_unsearched_free(f->outside);
    rh_rehearsal_queue_free(f->queue);
    rh_fold_cache_free(s->folded);
    rh_uncontended_times_free(s->alone);
    if (s->o.kept) {
        rh_bound_end_batch(f->cache);
        *s->o.kept = g_steal_pointer(&f->cache);
    }
    rh_bound_free(f->cache);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Search, search_clear)

static bool note_one(const RhLayout *l, void *some)
{
    (void)l;
    *(bool *)some = true;
    return false;
}

/* Must some layout have been legal? It must, if all layouts left out unlisted were left out for
 * lack of memory. */
static bool has_legal(const RhFunnel *f)
{
    bool some = f->plan->legal_count > 0 || f->main.heap->len > 0;
    if (!some && f->lacks_memory)
        rh_space_walk(f->c, f->o->constraints, f->o->constraints_count, f->deadline, note_one,
                      &some);
    return some;
}

/* Performs all searches; false where there is no answer. */
static bool search_all(RhFunnel *f, GError **error)
{
    if (!f->o->listed)
        rh_funnel_list_cuts(f);
    else
        screen_all(f);
    search_and_prove(f);
    if (!f->o->unlike && !has_legal(f) && !rh_funnel_out_of_time(f)) {
        rh_suggest_no_layout(f->c, f->o, f->deadline, error);
        return false;
    }
    search_beside(f);
    if (!f->failed && f->plan->entries->len == 0 && !f->plan->timed_out)
        f->failed = g_steal_pointer(&f->lost); /* the only error to report */
    g_clear_error(&f->lost);
    if (f->failed)
        g_propagate_error(error, f->failed);
    return !f->failed;
}

/* Finds near misses and memory savers. */
static void advise(const RhFunnel *f)
{
    RhPlan *plan = f->plan;
    if (plan->timed_out || f->o->best_alone)
        return;
    if (plan->entries->len > 0 && !rh_funnel_by_memory(f))
        rh_near_misses(f->c, f->cache, f->space, f->room.most_bytes, plan);
    if (plan->fit_count == 0 || plan->unsafe)
        rh_suggest_smallest_change(f->c, f->o, f->deadline, plan);
}

bool rh_plan_perform(const RhProblem *c, const RhPlanOptions *options, RhPlan *plan, GError **error)
{
    rh_ignore_failure(rh_train_job_legal(c, NULL)); /* as in begin_processes() */
    g_autoptr(RhUncontendedTimes) alone = rh_uncontended_times_new(c->platform);
    g_autoptr(RhFoldedTable) folded = rh_fold_cache_new();
    g_autoptr(RhIsolatedRuns) apart =
        rh_isolated_run_new(rh_rehearsal_build, sizeof(RhRehearsalNote), c->platform, alone, folded,
                            (void *)(uintptr_t)c);
    g_autoptr(RhRehearsalQueue) queue = rh_rehearsal_queue_new(
        c->platform, alone, folded, rh_funnel_jobs(&(RhFunnel){.o = options}));
    RhFunnel f = {.c = c,
                  .o = options,
                  .plan = plan,
                  .apart = apart,
                  .queue = queue,
                  .main = race_new(plan->entries, 1, ONLY_BATCH, (double)INFINITY),
                  .deadline = rh_deadline_in(SEARCH_FRAC * options->timeout_s)};
    f.race = &f.main;
    lists_begin(&f);
    rh_funnel_perform_best(&f);
    lists_clear(&f);
    g_array_unref(f.main.heap);
    if (f.failed)
        g_propagate_error(error, f.failed);
    return !f.failed;
}

RhPlan *rh_plan(const RhProblem *c, const RhPlanOptions *options, GError **error)
{
    gint64 started_us = g_get_monotonic_time();
    g_autoptr(RhPlan) plan = rh_plan_new();
    g_auto(Search) s;
    search_begin(&s, c, options, plan);
    if (!search_all(&s.f, error))
        return NULL;
    advise(&s.f);
    if (s.f.outside)
        plan->outside = rh_unsearched_end(s.f.outside, plan);
    plan->ranked_bytes = s.f.room.ranked_bytes;
    plan->wall_s = (double)(g_get_monotonic_time() - started_us) / 1e6;
    return g_steal_pointer(&plan);
}
