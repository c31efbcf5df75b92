#include "strategies/search/funnel.h"

#include <math.h>

#include "base/error.h"
#include "strategies/search/account.h"
#include "strategies/search/screen.h"
#include "strategies/search/sensitive.h"

/* --- a batch --- */

/* What is left of the search's time, for one call of the engine. */
static double rehearsal_timeout_s(const RhFunnel *f)
{
    return f->o->timeout_s > 0 ? MAX(rh_deadline_left_s(f->deadline), 0.01) : 0;
}

RhEngineOptions rh_funnel_rehearsal_options(const RhFunnel *f, double enough_s)
{
    return (RhEngineOptions){.timeout_s = rehearsal_timeout_s(f),
                             .enough_s = isfinite(enough_s) ? enough_s : 0};
}

/* Of one of the batch: the entries by which it may be in vain stay as they are until it is over. */
static RhEngineOptions batch_options(const RhFunnel *f, const RhLayout *l)
{
    return rh_funnel_rehearsal_options(f,
                                       rh_funnel_in_vain_from_s(f, l) / rh_straggler_factor(f->c));
}

int32_t rh_funnel_jobs(const RhFunnel *f)
{
    return f->o->jobs > 0 ? f->o->jobs : (int32_t)g_get_num_processors();
}

/* Quick answers, energies and peaks are taken by whole batches: nothing is foreseen of them. */
static void foresee(RhFunnel *f, const RhLayout *l, double expected_s)
{
    if (f->o->exhaustive || f->o->quick || rh_funnel_by_memory(f) || rh_funnel_by_energy(f))
        return;
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; f->batch->len == 1 && i < entries->len; i++) {
        const RhRehearsal *r = entries->pdata[i];
        double worth = rh_funnel_worth_of(f, r) * rh_funnel_handicap(f, &r->layout);
        rh_foresee(f->foreseen, &r->layout, worth, f->o->variants);
    }
    double worth = rh_funnel_worth_of_step(f, expected_s);
    rh_foresee(f->foreseen, l, worth * rh_funnel_handicap(f, l), f->o->variants);
    f->race->foreseen = rh_foreseen_worth(f->foreseen, f->race->top);
}

void rh_funnel_join_batch(RhFunnel *f, const RhCandidate *c, double bound_s)
{
    RhLayout l = rh_funnel_layout(f, c->layout);
    RhEngineOptions options = batch_options(f, &l);
    g_array_append_val(f->batch, c->layout);
    double told_s = c->kind == RH_KEY_STEADY ? c->key : (double)NAN;
    g_array_append_val(f->bounds, bound_s);
    g_array_append_val(f->told, told_s);
    g_array_append_val(f->options, options);
    rh_screen_end_fold(f->screen, &l);
    rh_apart_begin(f->apart, rh_funnel_jobs(f), &l, &options);
    foresee(f, &l, c->kind == RH_KEY_STEADY ? c->key : bound_s * RH_FORESEEN_OVER_BOUND);
}

bool rh_funnel_waits(const RhFunnel *f, const RhCandidate *c)
{
    if (f->o->variants || f->foreseen->len == 0)
        return false;
    RhLayout l = rh_funnel_layout(f, c->layout);
    return c->key * rh_funnel_handicap(f, &l) >= rh_foreseen_kind_worth(f->foreseen, &l);
}

void rh_funnel_leave_batch(RhFunnel *f)
{
    if (!f->performance.begun)
        rh_apart_forget(f->apart);
    for (guint i = 0; i < f->waiting->len; i++)
        rh_heap_push(f->race->heap, g_array_index(f->waiting, RhCandidate, i));
    GArray *all[] = {f->batch, f->bounds, f->told, f->options, f->foreseen, f->waiting};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_array_set_size(all[i], 0);
    f->race->foreseen = (double)INFINITY;
}

/* No room for the rehearsal, which was tried twice: left out, and said so. */
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

/* Is it known that the layout was rehearsed in vain? One that was left too early is rehearsed to its end: what was
 * in vain when the batch began need not be any more. */
static bool in_vain(RhFunnel *f, const RhLayout *l, RhRun **run, GError **error)
{
    if (!*run || !(*run)->left)
        return false;
    if ((*run)->step_time_s * rh_straggler_factor(f->c) >= rh_funnel_in_vain_from_s(f, l))
        return true;
    RhEngineOptions whole = rh_funnel_rehearsal_options(f, 0);
    g_clear_pointer(run, rh_run_free);
    rh_apart_run(f->apart, 1, 1, l, &whole, run, error, NULL, NULL);
    return false;
}

/* No more is rehearsed. What the machine refuses it refuses to every layout. */
static void fail(RhFunnel *f, const RhLayout *l, const GError *error)
{
    g_autofree char *text = rh_layout_format(l);
    if (f->failed)
        return;
    f->failed = g_error_copy(error);
    if (!g_error_matches(error, RH_ERROR, RH_ERROR_REFUSED))
        g_prefix_error(&f->failed, "%s: ", text);
}

static void account_batch(RhFunnel *f, RhRun **runs, GError **errors)
{
    for (guint i = 0; i < f->batch->len; i++) {
        RhLayout l = rh_funnel_layout(f, g_array_index(f->batch, int32_t, i));
        if (in_vain(f, &l, &runs[i], &errors[i])) {
            f->plan->rehearsed_count++;
            continue;
        }
        if (!runs[i] && rh_funnel_out_of_time(f))
            continue; /* cut short: not rehearsed */
        if (!runs[i] && is_lost(f, errors[i], g_array_index(f->bounds, double, i)))
            continue;
        f->plan->rehearsed_count++;
        if (!runs[i]) {
            fail(f, &l, errors[i]);
            continue;
        }
        rh_funnel_judge_steady(f, runs[i], g_array_index(f->told, double, i));
        RhRehearsal *r = rh_account_new(f->c, &l);
        rh_account_run(f->c, r, runs[i]);
        r->bound_closed_s = rh_screen_bound_s(f->screen, &l) * rh_straggler_factor(f->c);
        r->bound_segment_s = g_array_index(f->bounds, double, i) * rh_straggler_factor(f->c);
        if (f->o->seen)
            f->o->seen(r, f->o->user);
        rh_funnel_keep(f, r);
    }
}

static void report_item(int32_t done, void *user)
{
    const RhFunnel *f = user;
    rh_funnel_report(f, "rehearse", f->plan->rehearsed_count + done,
                     f->plan->rehearsed_count + f->batch->len + (int64_t)f->race->heap->len);
}

/* The batch, behind the performance where one was begun, which is over then. */
static void run_batch(RhFunnel *f, RhRun **runs, GError **errors)
{
    RhPerformance *first = &f->performance;
    guint before = first->begun, n = before + f->batch->len;
    g_autofree RhLayout *layouts = g_new(RhLayout, n);
    g_autofree RhEngineOptions *options = g_new(RhEngineOptions, n);
    g_autofree RhRun **all = g_new0(RhRun *, n);
    g_autofree GError **failures = g_new0(GError *, n);
    layouts[0] = first->layout;
    options[0] = first->options;
    for (guint i = before; i < n; i++) {
        layouts[i] = rh_funnel_layout(f, g_array_index(f->batch, int32_t, i - before));
        options[i] = g_array_index(f->options, RhEngineOptions, i - before);
    }
    rh_apart_run_each(f->apart, (int32_t)n, rh_funnel_jobs(f), layouts, options, all, failures,
                      report_item, f);
    if (before) {
        first->run = all[0];
        first->error = failures[0];
    }
    first->begun = false;
    for (guint i = before; i < n; i++) {
        runs[i - before] = all[i];
        errors[i - before] = failures[i];
    }
}

void rh_funnel_rehearse_batch(RhFunnel *f)
{
    guint n = f->batch->len;
    g_autofree RhRun **runs = g_new0(RhRun *, n);
    g_autofree GError **errors = g_new0(GError *, n);
    run_batch(f, runs, errors);
    account_batch(f, runs, errors);
    for (guint i = 0; i < n; i++) {
        rh_run_free(runs[i]);
        g_clear_error(&errors[i]);
    }
    rh_funnel_leave_batch(f);
}

/* --- what is printed --- */

static void replace_entry(RhFunnel *f, guint i, const RhRun *run)
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
static void judge_apart(RhFunnel *f, const RhRehearsal *performed, double found_s)
{
    double apart_frac = performed->step_time_s / found_s - 1;
    f->plan->apart_frac = fmax(f->plan->apart_frac, fabs(apart_frac));
    if (fabs(apart_frac) <= RH_PLAN_AGREEMENT_FRAC || rh_funnel_out_of_time(f))
        return;
    RhSpread spread;
    RhEngineOptions options = {.timeout_s = rehearsal_timeout_s(f)};
    g_autoptr(GError) error = NULL;
    if (!rh_step_spread(f->apart, &performed->layout, found_s / rh_straggler_factor(f->c), &options,
                        rh_funnel_jobs(f), &spread, &error)) {
        f->plan->proved = false;
        if (!rh_funnel_out_of_time(f) && !g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
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

static bool is_performed(const RhFunnel *f)
{
    return f->main.entries->len > 0 && !f->o->quick && !f->failed && !f->plan->timed_out;
}

void rh_funnel_begin_performance(RhFunnel *f)
{
    if (!is_performed(f))
        return;
    f->performance = (RhPerformance){
        .begun = true,
        .layout = ((const RhRehearsal *)f->main.entries->pdata[0])->layout,
        .options = {.collapse_disabled = true, .timeout_s = rehearsal_timeout_s(f)}};
    rh_apart_begin(f->apart, rh_funnel_jobs(f), &f->performance.layout, &f->performance.options);
}

/* The best entry with every byte a flow, where that has not been begun; false: it stays as it was found. */
static bool perform_best(RhFunnel *f)
{
    RhPerformance *performance = &f->performance;
    double found_s = ((const RhRehearsal *)f->race->entries->pdata[0])->step_time_s;
    if (!performance->run && !performance->error && !performance->begun)
        rh_funnel_begin_performance(f);
    if (performance->begun)
        rh_funnel_rehearse_batch(f);
    g_autoptr(RhRun) run = g_steal_pointer(&performance->run);
    g_autoptr(GError) error = g_steal_pointer(&performance->error);
    if (run) {
        replace_entry(f, 0, run);
        judge_apart(f, f->race->entries->pdata[0], found_s);
        rh_funnel_sort(f);
    } else if (!rh_funnel_out_of_time(f) && g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
        f->plan->unperformed_count++;
    else if (!rh_funnel_out_of_time(f) && !f->failed)
        f->failed = g_steal_pointer(&error);
    return run != NULL;
}

void rh_funnel_perform_best(RhFunnel *f)
{
    const GPtrArray *entries = f->race->entries;
    const RhPerformance *performance = &f->performance;
    bool known = performance->begun || performance->run || performance->error;
    if (!known && !is_performed(f))
        return;
    rh_funnel_report(f, "perform", 0, 1);
    g_autoptr(GPtrArray) performed = g_ptr_array_new();
    while (!g_ptr_array_find(performed, entries->pdata[0], NULL) && perform_best(f))
        g_ptr_array_add(performed, entries->pdata[0]);
    f->plan->proved &= rh_plan_sensitive_frac(f->plan) <= RH_PLAN_SENSITIVE_MOST_FRAC;
}
