#pragma once
/* plan --from: the layout that somebody launches, beside the best one that was found. */
#include "cli/inputs/inputs.h"
#include "report/plan/launch_vs_plan.h"

/* Simulates the layout of the launch, and finds the settings of its framework that make the
 * difference to the first row; NULL without --from. A layout that cannot be simulated is told as a
 * hint, and NULL. Caller frees. */
RhLaunchedBeside *rh_launched_beside_new(const RhArguments *arguments, const RhInputs *inputs,
                                         const RhPlan *plan);
/* Prints it beside the first row; nothing for NULL. */
void rh_launched_print(const RhLaunchedBeside *beside, const RhPlan *plan);
