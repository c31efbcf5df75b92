#include "cli/explain/explain_replan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/output/terminal.h"
#include "strategies/framework_rules.h"
#include "strategies/search/near_batch.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* The words of the recorded command line that bound the search; they were read once already. */
static void read_bounds(const RhResult *result, GArray *constraints, RhPlanOptions *options)
{
    for (char **word = result->argv; word[0] && word[1]; word++) {
        RhConstraint constraint = {0};
        bool limit = strcmp(word[0], "--limit") == 0, fix = strcmp(word[0], "--fix") == 0;
        if ((limit || fix) && rh_constraint_parse(word[1], limit, &constraint, NULL))
            g_array_append_val(constraints, constraint);
        double risk_frac;
        if (strcmp(word[0], "--risk") == 0 && rh_share_parse(word[1], &risk_frac, NULL))
            options->risk_frac = fmax(risk_frac, RH_RISK_LEAST);
    }
}

RhMemoryBudget rh_explain_room(const RhResult *result, const RhProblem *c)
{
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    RhPlanOptions options = {.risk_frac = RH_RISK_FRAC};
    read_bounds(result, constraints, &options);
    return rh_memory_budget(c, (const RhConstraint *)(const void *)constraints->data,
                            (int32_t)constraints->len, options.risk_frac);
}

/* An empty plan where no layout is legal; NULL: an error of the rehearsals. */
static bool search(const RhInputs *in, const RhResult *result, RhPlanOptions options, RhPlan **plan,
                   GError **error)
{
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    g_autoptr(GError) inner = NULL;
    read_bounds(result, constraints, &options);
    options.objective = result->objective;
    options.constraints = (const RhConstraint *)(const void *)constraints->data;
    options.constraints_count = (int32_t)constraints->len;
    *plan = rh_plan(&in->c, &options, &inner);
    rh_terminal_progress_end();
    if (*plan || g_error_matches(inner, RH_ERROR, RH_ERROR_USAGE))
        return true;
    g_propagate_error(error, g_steal_pointer(&inner));
    return false;
}

/* Could the layout be better than `best`? Its bound tells, where seconds are what is asked for. */
static bool may_win(const RhInputs *in, RhBoundCache *cache, RhObjective objective,
                    const RhLayout *layout, const RhRehearsal *best)
{
    if (!best)
        return true;
    if (rh_layout_equal(layout, &best->layout))
        return false;
    bool timed = objective == RH_OBJECTIVE_TIME || objective == RH_OBJECTIVE_COST;
    return !timed || rh_segment_graph_s(cache, layout) * rh_straggler_factor(&in->c) <
                         rh_objective_value(objective, best);
}

/* A quick search goes by bounds, which do not see one slow GPU, and performs few: what the file ranked may be
 * better than its best. */
static bool consider_file(const RhInputs *in, const RhResult *result, RhRehearsal **best,
                          GError **error)
{
    RhObjective o = result->objective;
    double room_bytes = rh_explain_room(result, &in->c).ranked_bytes;
    g_autoptr(RhBoundCache) cache = rh_bound_new(&in->c);
    for (guint i = 0; result->is_plan && i < result->plans->len; i++) {
        RhLayout layout = g_array_index(result->plans, RhResultPlan, i).r.layout;
        layout.dp = 0; /* of the GPUs that there are now */
        g_autoptr(GError) illegal = NULL;
        if (!rh_inputs_settle_layout(in, &layout, &illegal) ||
            !may_win(in, cache, o, &layout, *best))
            continue;
        g_autofree char *refused = rh_framework_refused(&in->c, &layout);
        if (refused)
            continue;
        RhRehearsal *r = rh_result_rehearse(in, &layout, result->seed, NULL, NULL, error);
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

bool rh_explain_replan(const RhInputs *in, const RhResult *result, bool full, RhRehearsal **best,
                       GError **error)
{
    RhPlanOptions options = {.top = 1,
                             .gap_frac = RH_EXPLAIN_TIE_FRAC,
                             .quick = !full,
                             .best_alone = true,
                             .progress = rh_terminal_progress};
    g_autoptr(RhPlan) plan = NULL;
    *best = NULL;
    if (!search(in, result, options, &plan, error))
        return false;
    if (plan && plan->entries->len > 0)
        *best = g_ptr_array_steal_index(plan->entries, 0);
    return full || consider_file(in, result, best, error);
}

GArray *rh_explain_near_batches(const RhInputs *in, const RhResult *result, const RhRehearsal *best)
{
    RhPlanOptions options = {.gap_frac = RH_EXPLAIN_TIE_FRAC,
                             .quick = true,
                             .objective = result->objective,
                             .progress = rh_terminal_progress};
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    read_bounds(result, constraints, &options);
    options.constraints = (const RhConstraint *)(const void *)constraints->data;
    options.constraints_count = (int32_t)constraints->len;
    bool timed = result->objective == RH_OBJECTIVE_TIME;
    GArray *near = rh_near_batches_beside(&in->c, &options, timed ? best : NULL);
    rh_terminal_progress_end();
    return near;
}

#define QUICKEST_COUNT 8

GPtrArray *rh_explain_quickest(const RhInputs *in, const RhResult *result, GError **error)
{
    RhPlanOptions options = {.top = QUICKEST_COUNT,
                             .gap_frac = RH_EXPLAIN_TIE_FRAC,
                             .quick = true,
                             .progress = rh_terminal_progress};
    g_autoptr(RhPlan) plan = NULL;
    if (!search(in, result, options, &plan, error))
        return NULL;
    GPtrArray *out = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    GPtrArray *const lists[] = {plan ? plan->entries : NULL, plan ? plan->families : NULL};
    for (size_t l = 0; l < G_N_ELEMENTS(lists) && plan; l++)
        for (guint i = 0; i < lists[l]->len;) {
            const RhRehearsal *r = g_ptr_array_index(lists[l], i);
            if (r->events_count > 0) /* else a bound */
                g_ptr_array_add(out, g_ptr_array_steal_index(lists[l], i));
            else
                i++;
        }
    return out;
}
