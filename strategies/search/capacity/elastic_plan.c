#include "strategies/search/capacity/elastic_plan.h"

#include "base/deadline.h"
#include "base/garray_access.h"

#define MISSING_LEAST                                                                              \
    4 /* nodes: the next sizes are tried, as the first that divides may be a poor one */

/* Best layout on so many nodes; false: there is none. */
static bool plan_size(const RhProblem *of, int32_t nodes, const RhPlanOptions *options,
                      double left_s, RhElasticSize *out)
{
    RhProblem c = *of;
    RhPlanOptions own = *options;
    c.job.gpus = nodes * c.platform->gpus_per_node;
    if (options->timeout_s > 0)
        own.timeout_s = left_s;
    g_autoptr(RhPlan) plan = rh_plan(&c, &own, NULL);
    if (!plan || plan->entries->len == 0)
        return false;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    *out = (RhElasticSize){nodes, best->step_time_s, best->layout};
    return true;
}

GArray *rh_elastic_plan(const RhProblem *c, int32_t missing, const RhPlanOptions *options)
{
    GArray *sizes = g_array_new(FALSE, FALSE, sizeof(RhElasticSize));
    int32_t all = c->job.gpus / c->platform->gpus_per_node, next = all - 1;
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    for (int32_t away = 1; next >= (all + 1) / 2; away *= 2) {
        RhElasticSize size = {0};
        for (next = MIN(next, all - away); next >= (all + 1) / 2; next--) {
            if (rh_deadline_passed(deadline))
                return sizes;
            if (plan_size(c, next, options, rh_deadline_left_s(deadline), &size))
                break;
        }
        if (size.nodes > 0)
            g_array_append_val(sizes, size);
        if (--next < all - MAX(missing, MISSING_LEAST))
            break;
    }
    return sizes;
}
