#include "strategies/search/rehearsals/rehearse.h"

#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/build_by_deadline.h"
#include "strategies/search/rehearsals/run_metrics.h"

char *rh_peak_moment(const RhProgram *p, int32_t stage)
{
    RhLedger ledger = rh_ledger_walk(p, stage, RH_MEMORY_TIER_HBM);
    const RhRole *role = rh_program_role(p, stage);
    if (ledger.peak_task < role->tasks_first ||
        ledger.peak_task >= role->tasks_first + role->tasks_count)
        return NULL;
    const RhTask *task = rh_program_task(p, ledger.peak_task);
    if (task->microbatch < 0)
        return g_strdup(rh_phase_name((RhPhase)task->phase));
    return g_strdup_printf("%s of micro-batch %d", rh_phase_name((RhPhase)task->phase),
                           task->microbatch);
}

RhRehearsal *rh_rehearse(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                         RhProgram **program_out, RhRun **run_out, GError **error)
{
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) run = rh_rehearse_by_deadline(c, layout, options, &program, error);
    if (!run)
        return NULL;
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    RhRehearsal *r = rh_run_metrics_new(c, layout);
    r->bound_closed_s = rh_closed_form_s(cache, layout) * rh_straggler_factor(c);
    r->bound_segment_s = rh_segment_graph_s(cache, layout) * rh_straggler_factor(c);
    rh_run_metrics_run(c, r, run);
    r->bytes_total /= MAX(options->steps, 1);
    r->bytes_as_flows /= MAX(options->steps, 1);
    r->memory_when = rh_peak_moment(program, r->memory.stage);
    if (program_out)
        *program_out = g_steal_pointer(&program);
    if (run_out)
        *run_out = g_steal_pointer(&run);
    return r;
}

bool rh_rehearse_here(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                      double *step_s, GError **error)
{
    g_autoptr(RhProgram) program = rh_train_build(c, layout, error);
    g_autoptr(RhRun) run = program ? rh_engine_run(program, c->platform, options, error) : NULL;
    if (run)
        *step_s = run->step_time_s * rh_straggler_factor(c);
    return run != NULL;
}

RhRehearsal *rh_rehearse_quick(const RhProblem *c, const RhLayout *layout)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    RhRehearsal *r = rh_run_metrics_new(c, layout);
    double segment_s = rh_segment_graph_s(cache, layout);
    r->bound_closed_s = rh_closed_form_s(cache, layout) * rh_straggler_factor(c);
    r->bound_segment_s = segment_s * rh_straggler_factor(c);
    rh_run_metrics_bound(c, r, segment_s);
    return r;
}
