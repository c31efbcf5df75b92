#include "strategies/search/explain/replan.h"

#include "base/error.h"
#include "strategies/framework_rules.h"
#include "strategies/search/near_batch.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/train/train.h"

RhRehearsal *rh_rehearse_settled(const RhProblem *c, const RhLayout *layout, int64_t seed,
                                 RhProgram **program, RhRun **run, GError **error)
{
    RhEngineOptions options = {.seed = (uint64_t)seed, .timeline = run != NULL};
    RhLayout settled = *layout;
    if (!rh_train_settle_layout(c, &settled, error))
        return NULL;
    return rh_rehearse(c, &settled, &options, program, run, error);
}

RhMemoryBudget rh_replan_memory_budget(const RhRecordedPlan *before, const RhProblem *c)
{
    return rh_memory_budget(c, before->constraints, before->constraints_count, before->risk_frac);
}

/* Completes `options` with the bounds of the result's search. */
static void set_bounds(const RhRecordedPlan *before, RhPlanOptions *options)
{
    options->gap_frac = RH_REPLAN_TIE_FRAC;
    options->objective = before->objective;
    options->constraints = before->constraints;
    options->constraints_count = before->constraints_count;
    options->risk_frac = before->risk_frac;
    options->progress = before->progress;
}

/* Plans anew; an empty plan where no layout is legal, NULL for an error of the rehearsals. */
static bool plan_again(const RhProblem *c, const RhRecordedPlan *before, RhPlanOptions options,
                       RhPlan **plan, GError **error)
{
    g_autoptr(GError) inner = NULL;
    set_bounds(before, &options);
    *plan = rh_plan(c, &options, &inner);
    if (*plan || g_error_matches(inner, RH_ERROR, RH_ERROR_USAGE))
        return true;
    g_propagate_error(error, g_steal_pointer(&inner));
    return false;
}

/* Could the layout be better than `best`? Its bound decides if the objective is seconds. */
static bool may_win(const RhProblem *c, RhBoundCache *cache, RhObjective objective,
                    const RhLayout *layout, const RhRehearsal *best)
{
    if (!best)
        return true;
    if (rh_layout_equal(layout, &best->layout))
        return false;
    bool timed = objective == RH_OBJECTIVE_TIME || objective == RH_OBJECTIVE_COST;
    return !timed || rh_segment_graph_s(cache, layout) * rh_straggler_factor(c) <
                         rh_objective_value(objective, best);
}

/* Rehearses what the file ranked first, if it may be better than the best of a quick search, which
 * relies on bounds, which do not include a slow GPU, and rehearses few layouts. */
static bool consider_file(const RhProblem *c, const RhRecordedPlan *before, RhRehearsal **best,
                          GError **error)
{
    RhObjective o = before->objective;
    double room_bytes = rh_replan_memory_budget(before, c).ranked_bytes;
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    for (guint i = 0; before->is_plan && i < before->plans->len; i++) {
        RhLayout layout = g_array_index(before->plans, RhResultPlan, i).r.layout;
        layout.dp = 0; /* derived from today's number of GPUs */
        g_autoptr(GError) illegal = NULL;
        if (!rh_train_settle_layout(c, &layout, &illegal) || !may_win(c, cache, o, &layout, *best))
            continue;
        g_autofree char *refused = rh_framework_refused(c, &layout);
        if (refused)
            continue;
        RhRehearsal *r = rh_rehearse_settled(c, &layout, before->seed, NULL, NULL, error);
        if (!r)
            return false;
        bool safe = r->fits && r->memory.peak_bytes <= room_bytes;
        if (safe && (!*best || rh_objective_value(o, r) < rh_objective_value(o, *best))) {
            rh_rehearsal_free(*best);
            *best = g_steal_pointer(&r);
        }
        rh_rehearsal_free(r);
    }
    return true;
}

bool rh_replan(const RhProblem *c, const RhRecordedPlan *before, bool full, RhRehearsal **best,
               GError **error)
{
    RhPlanOptions options = {.top = 1, .quick = !full, .best_alone = true};
    g_autoptr(RhPlan) plan = NULL;
    *best = NULL;
    if (!plan_again(c, before, options, &plan, error))
        return false;
    if (plan && plan->entries->len > 0)
        *best = g_ptr_array_steal_index(plan->entries, 0);
    return full || consider_file(c, before, best, error);
}

GArray *rh_replan_near_batches(const RhProblem *c, const RhRecordedPlan *before,
                               const RhRehearsal *best)
{
    RhPlanOptions options = {.quick = true};
    set_bounds(before, &options);
    bool timed = before->objective == RH_OBJECTIVE_TIME;
    return rh_near_batches_beside(c, &options, timed ? best : NULL);
}

#define QUICKEST_COUNT 8

GPtrArray *rh_replan_quickest(const RhProblem *c, const RhRecordedPlan *before, GError **error)
{
    RhPlanOptions options = {.top = QUICKEST_COUNT, .quick = true};
    g_autoptr(RhPlan) plan = NULL;
    if (!plan_again(c, before, options, &plan, error))
        return NULL;
    GPtrArray *out = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    GPtrArray *const lists[] = {plan ? plan->entries : NULL, plan ? plan->families : NULL};
    for (size_t l = 0; l < G_N_ELEMENTS(lists) && plan; l++)
        for (guint i = 0; i < lists[l]->len;) {
            const RhRehearsal *r = g_ptr_array_index(lists[l], i);
            if (r->events_count > 0) /* otherwise a bound */
                g_ptr_array_add(out, g_ptr_array_steal_index(lists[l], i));
            else
                i++;
        }
    return out;
}
