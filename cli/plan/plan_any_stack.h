#pragma once
/* `plan --stack any`: searches the space of every framework with its own stack's costs. */
#include "cli/inputs/inputs.h"
#include "strategies/search/plan.h"

/* Plans for each stack with a supported framework (stack.framework): the best by the objective
 * becomes *plan, its inputs *in, and it lists the others. Its candidates are appended to `seen`
 * (RhParetoPoint). Returns false with RH_ERROR_USAGE or RH_ERROR_INPUT when no stack can be planned
 * for. */
bool rh_plan_any(const RhArguments *arguments, const RhPlanOptions *options, GArray *seen,
                 RhInputs **in, RhPlan **plan, GError **error) G_GNUC_WARN_UNUSED_RESULT;
