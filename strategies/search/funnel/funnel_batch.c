#include "strategies/search/funnel/funnel.h"

#include <math.h>

#include "base/error.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* --- a batch --- */

double rh_funnel_left_s(const RhFunnel *f)
{
    return f->o->timeout_s > 0 ? MAX(rh_deadline_left_s(f->deadline), 0.01) : 0;
}

RhEngineOptions rh_funnel_rehearsal_options(const RhFunnel *f, double cutoff_s)
{
    return (RhEngineOptions){.timeout_s = rh_funnel_left_s(f),
                             .cutoff_s = isfinite(cutoff_s) ? cutoff_s : 0};
}

/* Returns the options of a rehearsal of the batch. Its cut-off comes from the entries, which stay
 * unchanged until the batch ends. */
static RhEngineOptions batch_options(const RhFunnel *f, const RhLayout *l)
{
    return rh_funnel_rehearsal_options(f,
                                       rh_funnel_in_vain_from_s(f, l) / rh_straggler_factor(f->c));
}

int32_t rh_plan_jobs(const RhPlanOptions *o)
{
    return o->jobs > 0 ? o->jobs : (int32_t)g_get_num_processors();
}

int32_t rh_funnel_jobs(const RhFunnel *f)
{
    return rh_plan_jobs(f->o);
}

/* Adds the expected step of a batch item to the expected entries. Nothing is expected of quick
 * answers, energies and peaks, which are taken by whole batches. */
static void foresee(RhFunnel *f, const RhLayout *l, double expected_s)
{
    if (f->o->exhaustive || f->o->quick || rh_funnel_by_memory(f) || rh_funnel_by_energy(f))
        return;
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; f->batch->len == 1 && i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        double worth = rh_funnel_worth_of(f, r) * rh_funnel_handicap(f, &r->layout);
        rh_expect_value(f->foreseen, &r->layout, worth, f->o->variants);
    }
    double worth = rh_funnel_worth_of_step(f, expected_s);
    rh_expect_value(f->foreseen, l, worth * rh_funnel_handicap(f, l), f->o->variants);
    f->race->foreseen = rh_expected_worth(f->foreseen, f->race->top);
}

/* Returns the two shorter rehearsals that the layout's step is extrapolated from; zeros if it is
 * rehearsed whole. */
static RhSteadyStateParts parts_of(const RhFunnel *f, const RhLayout *l)
{
    RhSteadyStateParts parts;
    bool whole = f->o->listed || f->o->exhaustive || f->o->seen || rh_funnel_by_estimate(f) ||
                 rh_funnel_by_memory(f) || rh_bound_tasks(f->cache, l) < RH_STEADY_TASKS_LEAST ||
                 !rh_steady_state_parts(f->c, l, &parts);
    return whole ? (RhSteadyStateParts){0} : parts;
}

/* Lists the rehearsals of a batch item, one or two; returns their number. */
static guint notes_of(const RhFunnel *f, const RhBatchItem *item, RhRehearsalNote notes[2])
{
    RhLayout l = rh_funnel_layout(f, item->layout);
    notes[0] = (RhRehearsalNote){l, item->parts.first};
    notes[1] = (RhRehearsalNote){l, item->parts.second};
    return item->parts.second > 0 ? 2 : 1;
}

void rh_funnel_join_batch(RhFunnel *f, const RhCandidate *c, double bound_s)
{
    RhLayout l = rh_funnel_layout(f, c->layout);
    RhBatchItem item = {c->layout, bound_s, {0}, parts_of(f, &l)};
    item.options = item.parts.second > 0 ? rh_funnel_rehearsal_options(f, 0) : batch_options(f, &l);
    RhRehearsalNote notes[2];
    guint count = notes_of(f, &item, notes);
    g_array_append_val(f->batch, item);
    rh_funnel_charge_row(f, &item);
    rh_bound_end_fold(f->cache, &l);
    for (guint i = 0; i < count; i++)
        rh_isolated_run_begin(f->apart, rh_funnel_jobs(f), &notes[i], &item.options);
    foresee(f, &l, bound_s * RH_FORESEEN_OVER_BOUND);
}

bool rh_funnel_waits(const RhFunnel *f, const RhCandidate *c)
{
    if (f->o->variants || f->foreseen->len == 0)
        return false;
    RhLayout l = rh_funnel_layout(f, c->layout);
    return c->key * rh_funnel_handicap(f, &l) >= rh_expected_kind_worth(f->foreseen, &l);
}

void rh_funnel_leave_batch(RhFunnel *f)
{
    rh_isolated_run_forget(f->apart);
    for (guint i = 0; i < f->waiting->len; i++)
        rh_candidate_heap_push(f->race->heap, g_array_index(f->waiting, RhCandidate, i));
    GArray *all[] = {f->batch, f->foreseen, f->waiting};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_array_set_size(all[i], 0);
    f->race->foreseen = (double)INFINITY;
}

/* Did the rehearsal run out of memory twice? Then the layout is counted as lost. */
static bool is_lost(RhFunnel *f, const GError *error, double bound_s)
{
    if (!g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
        return false;
    f->plan->lost_count++;
    f->plan->lost_bound_s = fmin(f->plan->lost_bound_s, bound_s);
    if (!f->lost)
        f->lost = g_error_copy(error);
    return true;
}

static RhRun *rehearse_whole(RhFunnel *f, const RhLayout *l, GError **error)
{
    RhEngineOptions options = rh_funnel_rehearsal_options(f, 0);
    RhRehearsalNote note = {*l, 0};
    RhRun *run = NULL;
    rh_isolated_run_batch(f->apart, &(RhIsolatedBatch){.count = 1,
                                                       .jobs = 1,
                                                       .notes = &note,
                                                       .options = &options,
                                                       .out = &run,
                                                       .errors = error});
    return run;
}

/* Was the layout's rehearsal cut off for good? If its cut-off has become too low since the batch
 * began, the layout is rehearsed to its end instead. */
static bool in_vain(RhFunnel *f, const RhLayout *l, RhRun **run, GError **error)
{
    if (!*run || !(*run)->left)
        return false;
    if ((*run)->step_time_s * rh_straggler_factor(f->c) >= rh_funnel_in_vain_from_s(f, l))
        return true;
    g_clear_pointer(run, rh_run_free);
    *run = rehearse_whole(f, l, error);
    return false;
}

/* Records the error that ends the search. What the machine refuses is refused to every layout, so
 * the layout is not named then. */
static void fail(RhFunnel *f, const RhLayout *l, const GError *error)
{
    g_autofree char *text = rh_layout_format(l);
    if (f->failed)
        return;
    f->failed = g_error_copy(error);
    if (!g_error_matches(error, RH_ERROR, RH_ERROR_REFUSED))
        g_prefix_error(&f->failed, "%s: ", text);
}

/* Adds the result of a batch item to the entries. */
static void account_item(RhFunnel *f, const RhBatchItem *item, RhRun **run, GError **error)
{
    RhLayout l = rh_funnel_layout(f, item->layout);
    if (in_vain(f, &l, run, error)) {
        f->plan->rehearsed_count++;
        return;
    }
    if (!*run && (rh_funnel_out_of_time(f) || is_lost(f, *error, item->bound_s)))
        return; /* cut short: not rehearsed */
    f->plan->rehearsed_count++;
    if (!*run) {
        fail(f, &l, *error);
        return;
    }
    RhRehearsal *r = rh_run_metrics_new(f->c, &l);
    rh_run_metrics_run(f->c, r, *run);
    r->told_by_fewer = item->parts.second > 0;
    r->bound_closed_s = rh_closed_form_s(f->cache, &l) * rh_straggler_factor(f->c);
    r->bound_segment_s = item->bound_s * rh_straggler_factor(f->c);
    if (f->o->seen)
        f->o->seen(r, f->o->user);
    rh_funnel_keep(f, r);
}

/* Returns the run extrapolated from its two parts. If it is below its bound, the parts were too
 * short to repeat themselves, and the layout is rehearsed whole. */
static RhRun *tell(RhFunnel *f, RhBatchItem *item, RhRun *const parts[2], GError **error)
{
    RhRun *run = rh_steady_state_run(parts[0], parts[1], item->parts);
    f->plan->steady_count++;
    if (run->step_time_s >= item->bound_s * (1 - RH_STEADY_APART_FRAC))
        return run;
    RhLayout l = rh_funnel_layout(f, item->layout);
    rh_run_free(run);
    item->parts = (RhSteadyStateParts){0};
    return rehearse_whole(f, &l, error);
}

static void report_item(int32_t done, void *user)
{
    const RhFunnel *f = user;
    /* Nobody knows how many: the search ends where bounds exclude what is left. */
    rh_funnel_report(f, "layouts simulated:", f->plan->rehearsed_count + done, 0);
}

/* Rehearsals of a batch, with their results. */
typedef struct {
    guint count;
    RhRehearsalNote *notes;
    RhEngineOptions *options;
    RhRun **runs;
    GError **errors;
} Runs;

static Runs runs_new(const RhFunnel *f)
{
    guint most = 2 * f->batch->len;
    Runs all = {0, g_new(RhRehearsalNote, most), g_new(RhEngineOptions, most),
                g_new0(RhRun *, most), g_new0(GError *, most)};
    for (guint i = 0; i < f->batch->len; i++) {
        const RhBatchItem *item = &g_array_index(f->batch, RhBatchItem, i);
        guint count = notes_of(f, item, &all.notes[all.count]);
        for (guint k = 0; k < count; k++)
            all.options[all.count++] = item->options;
    }
    return all;
}

static void runs_clear(Runs *all)
{
    for (guint i = 0; i < all->count; i++) {
        rh_run_free(all->runs[i]);
        g_clear_error(&all->errors[i]);
    }
    g_free(all->notes);
    g_free(all->options);
    g_free(all->runs);
    g_free(all->errors);
}

void rh_funnel_rehearse_batch(RhFunnel *f)
{
    Runs all = runs_new(f);
    guint at = 0;
    rh_isolated_run_batch(f->apart, &(RhIsolatedBatch){.count = (int32_t)all.count,
                                                       .jobs = rh_funnel_jobs(f),
                                                       .notes = all.notes,
                                                       .options = all.options,
                                                       .options_each = true,
                                                       .out = all.runs,
                                                       .errors = all.errors,
                                                       .progress = report_item,
                                                       .user = f});
    for (guint i = 0; i < f->batch->len; i++) {
        RhBatchItem *item = &g_array_index(f->batch, RhBatchItem, i);
        RhRun **runs = &all.runs[at], *run = NULL;
        GError **error = &all.errors[at];
        bool parts = item->parts.second > 0;
        at += parts ? 2 : 1;
        if (parts && runs[0] && runs[1])
            run = tell(f, item, runs, error);
        else if (!parts)
            run = g_steal_pointer(&runs[0]);
        if (parts && !*error)
            *error = g_steal_pointer(&error[1]);
        account_item(f, item, &run, error);
        rh_run_free(run);
    }
    runs_clear(&all);
    rh_funnel_leave_batch(f);
}

void rh_funnel_charge_row(RhFunnel *f, const RhBatchItem *item)
{
    RhLayout l = rh_funnel_layout(f, item->layout);
    double tasks = rh_bound_tasks(f->cache, &l);
    if (item->parts.second > 0)
        tasks *= (double)(item->parts.first + item->parts.second) / (double)item->parts.whole;
    f->race->tasks_left -= f->race->filling ? tasks : 0;
}
