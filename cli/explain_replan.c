#include "cli/explain_replan.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/terminal.h"
#include "strategies/search/plan.h"

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
            options->risk_frac = risk_frac;
    }
}

RhRoom rh_explain_room(const RhResult *result, const RhCase *c)
{
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    RhPlanOptions options = {.risk_frac = RH_RISK_FRAC};
    if (result->is_plan)
        read_bounds(result, constraints, &options);
    return rh_room(c, (const RhConstraint *)(const void *)constraints->data,
                   (int32_t)constraints->len, options.risk_frac);
}

bool rh_explain_replan(const RhInputs *in, const RhResult *result, bool full, RhRehearsal **best,
                       GError **error)
{
    g_autoptr(GArray) constraints = g_array_new(FALSE, TRUE, sizeof(RhConstraint));
    g_autoptr(GError) inner = NULL;
    RhPlanOptions options = {.top = 1,
                             .gap_frac = 0.002,
                             .quick = !full,
                             .best_alone = true,
                             .progress = rh_terminal_progress};
    if (result->is_plan)
        read_bounds(result, constraints, &options);
    options.constraints = (const RhConstraint *)(const void *)constraints->data;
    options.constraints_count = (int32_t)constraints->len;
    g_autoptr(RhPlan) plan = rh_plan(&in->c, &options, &inner);
    rh_terminal_progress_end();
    *best = NULL;
    if (!plan && !g_error_matches(inner, RH_ERROR, RH_ERROR_USAGE)) {
        g_propagate_error(error, g_steal_pointer(&inner));
        return false;
    }
    if (plan && plan->entries->len > 0)
        *best = g_ptr_array_steal_index(plan->entries, 0);
    return true;
}
