/* Simulation of the best entry as it is printed: every byte is a SimGrid flow. */
#include <math.h>

#include "base/error.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/search/rehearsals/step_perturbation_spread.h"

/* Replaces entry `i` by the results of the run; returns the new entry. */
static RhRehearsal *replace_entry(RhFunnel *f, guint i, const RhRun *run)
{
    RhRehearsal *old = f->race->entries->pdata[i], *r = rh_run_metrics_new(f->c, &old->layout);
    rh_run_metrics_run(f->c, r, run);
    r->bound_closed_s = old->bound_closed_s;
    r->bound_segment_s = old->bound_segment_s;
    r->searched_s = old->step_time_s;
    r->searched_by_fewer = old->told_by_fewer;
    f->race->entries->pdata[i] = r;
    rh_rehearsal_free(old);
    return r;
}

/* Compares the extrapolated step of the best entry with the whole step. */
static void judge_told(RhFunnel *f, double whole_s, double told_s)
{
    double apart_frac = fabs(whole_s / told_s - 1);
    f->plan->steady_apart_frac = fmax(f->plan->steady_apart_frac, apart_frac);
    f->plan->steady_disagrees |= apart_frac > RH_STEADY_APART_FRAC;
}

/* Compares the simulated step with the one found by the search. If they differ, the step must be
 * sensitive, that is, move as far when it is nudged; otherwise the difference is an error of the
 * program. */
static void judge_apart(RhFunnel *f, const RhRehearsalNote *note, double performed_s,
                        double found_s)
{
    double apart_frac = performed_s / found_s - 1;
    f->plan->apart_frac = fmax(f->plan->apart_frac, fabs(apart_frac));
    if (fabs(apart_frac) <= RH_PLAN_AGREEMENT_FRAC || rh_funnel_out_of_time(f))
        return;
    RhStepSpread spread;
    RhEngineOptions options = rh_funnel_rehearsal_options(f, 0);
    g_autoptr(GError) error = NULL;
    if (!rh_step_spread(f->apart, note, found_s, &options, rh_funnel_jobs(f), &spread, &error)) {
        f->plan->proved = false;
        if (!rh_funnel_out_of_time(f) && !g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
            f->failed = g_steal_pointer(&error);
        return;
    }
    f->plan->spread_frac = fmax(f->plan->spread_frac, spread.most_frac - spread.least_frac);
    if (rh_spread_explains(spread, apart_frac))
        return;
    g_autofree char *text = rh_layout_format(&note->layout);
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
    const RhRehearsal *best = f->main.entries->pdata[0];
    RhEngineOptions timers = rh_funnel_rehearsal_options(f, 0), flows = timers;
    RhSteadyStateParts parts = {0};
    bool told = best->told_by_fewer && rh_steady_state_parts(f->c, &best->layout, &parts);
    flows.collapse_disabled = true;
    f->performance = (RhPerformance){
        .count = told ? 3 : 1,
        .notes = {{best->layout, 0}, {best->layout, parts.second}, {best->layout, parts.second}}};
    RhEngineOptions each[RH_PERFORMANCE_RUNS] = {told ? timers : flows, flows, timers};
    RhPerformance *p = &f->performance;
    for (guint i = 0; i < p->count; i++)
        p->numbers[i] = rh_rehearsal_queue_add(f->queue, f->c, &p->notes[i], &each[i]);
}

static void end_performance(RhFunnel *f)
{
    RhPerformance *p = &f->performance;
    rh_rehearsal_queue_wait(f->queue);
    for (guint i = 0; i < p->count; i++)
        p->runs[i] = rh_rehearsal_queue_take(f->queue, p->numbers[i], &p->errors[i]);
}

static void judge_performance(RhFunnel *f, double found_s)
{
    const RhPerformance *p = &f->performance;
    double slower = rh_straggler_factor(f->c);
    if (p->count == 1) {
        judge_apart(f, &p->notes[0], p->runs[0]->step_time_s, found_s / slower);
        return;
    }
    judge_told(f, p->runs[0]->step_time_s, found_s / slower);
    if (p->runs[1] && p->runs[2])
        judge_apart(f, &p->notes[1], p->runs[1]->step_time_s, p->runs[2]->step_time_s);
}

static void forget_performance(RhPerformance *p)
{
    for (guint i = 0; i < p->count; i++) {
        rh_run_free(p->runs[i]);
        g_clear_error(&p->errors[i]);
    }
    *p = (RhPerformance){0};
}

/* Returns the index of the entry that was simulated; -1 if it is no entry any more. */
static int32_t performed_entry(const RhFunnel *f)
{
    const GPtrArray *entries = f->race->entries;
    for (guint i = 0; i < entries->len; i++)
        if (rh_layout_equal(&((const RhRehearsal *)entries->pdata[i])->layout,
                            &f->performance.notes[0].layout))
            return (int32_t)i;
    return -1;
}

/* Replaces the simulated entry by its results; returns it, NULL if it is no entry any more. */
static RhRehearsal *take_performance(RhFunnel *f)
{
    RhPerformance *p = &f->performance;
    int32_t at = performed_entry(f);
    RhRehearsal *performed = NULL;
    if (p->runs[0] && at >= 0) {
        double found_s = ((const RhRehearsal *)f->race->entries->pdata[at])->step_time_s;
        performed = replace_entry(f, (guint)at, p->runs[0]);
        judge_performance(f, found_s);
        rh_funnel_sort(f);
    } else if (!p->runs[0] && !rh_funnel_out_of_time(f)) {
        if (g_error_matches(p->errors[0], RH_ERROR, RH_ERROR_NO_ANSWER))
            f->plan->unperformed_count++;
        else if (!f->failed)
            f->failed = g_steal_pointer(&p->errors[0]);
    }
    forget_performance(p);
    return performed;
}

void rh_funnel_perform_best(RhFunnel *f)
{
    const GPtrArray *entries = f->race->entries;
    if (f->performance.count == 0 && !is_performed(f))
        return;
    rh_funnel_report(f, "simulating messages", 0, 1);
    g_autoptr(GPtrArray) performed = g_ptr_array_new();
    for (bool more = true; more;) {
        if (f->performance.count == 0)
            rh_funnel_begin_performance(f);
        if (f->performance.count == 0)
            break; /* time is up */
        end_performance(f);
        RhLayout asked = f->performance.notes[0].layout;
        g_ptr_array_add(performed, take_performance(f));
        const RhRehearsal *best = entries->pdata[0];
        more = !g_ptr_array_find(performed, best, NULL) && !rh_layout_equal(&best->layout, &asked);
    }
    f->plan->proved &= rh_plan_sensitive_frac(f->plan) <= RH_PLAN_SENSITIVE_MOST_FRAC;
}
