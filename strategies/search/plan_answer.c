#include "strategies/search/plan_answer.h"

#include <math.h>

#include "strategies/search/colocation/plan_with_jobs.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/search/infeasible_suggestions.h"

RhPlan *rh_plan_new(void)
{
    RhPlan *plan = g_new0(RhPlan, 1);
    plan->entries = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    plan->variants = g_array_new(FALSE, FALSE, sizeof(RhPlanVariants));
    plan->family_bounds = g_array_new(FALSE, FALSE, sizeof(RhPlanFamilyBound));
    plan->families = g_ptr_array_new_with_free_func((GDestroyNotify)rh_rehearsal_free);
    plan->near_misses = g_ptr_array_new_with_free_func(rh_near_miss_free);
    plan->changes = g_ptr_array_new_with_free_func(rh_suggest_change_free);
    plan->proof_bound_s = plan->too_large_bound_s = plan->lost_bound_s = (double)INFINITY;
    return plan;
}

void rh_colocated_job_plan_free(RhColocatedJobPlan *b)
{
    if (!b)
        return;
    g_strfreev(b->names);
    g_array_unref(b->layouts);
    g_array_unref(b->places);
    g_free(b);
}

void rh_plan_free(RhPlan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->entries);
    g_ptr_array_unref(plan->families);
    g_array_unref(plan->variants);
    g_array_unref(plan->family_bounds);
    g_ptr_array_unref(plan->near_misses);
    g_ptr_array_unref(plan->changes);
    rh_rehearsal_free(plan->over_budget);
    g_clear_pointer(&plan->others, g_array_unref);
    g_clear_pointer(&plan->near_batches, g_array_unref);
    g_clear_pointer(&plan->outside, g_array_unref);
    rh_colocated_job_plan_free(plan->beside);
    g_free(plan);
}

double rh_plan_sensitive_frac(const RhPlan *plan)
{
    bool agrees = plan->apart_frac <= RH_PLAN_AGREEMENT_FRAC;
    return agrees ? 0 : fmax(plan->spread_frac, plan->apart_frac);
}
