#pragma once
/* `plan --stack any`: the space of every framework, each with its own stack's costs. */
#include "cli/inputs/inputs.h"
#include "strategies/search/plan.h"

/* One plan for each stack that a framework of ours starts (stack.framework); the best by the objective of what is
 * started is *plan, its inputs *in, the others are listed in it. What was seen of it is appended to `seen`
 * (RhParetoPoint). False: nothing could be asked, RH_ERROR_USAGE or RH_ERROR_INPUT. */
bool rh_plan_any(const RhArguments *arguments, const RhPlanOptions *options, GArray *seen,
                 RhInputs **in, RhPlan **plan, GError **error);
