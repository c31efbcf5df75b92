#pragma once
/* plan --from: the layout that somebody launches, beside the best one that was found. */
#include "cli/inputs/inputs.h"
#include "strategies/search/plan.h"

/* Simulates the layout of the launch and prints it beside the first row, with the settings of its
 * framework that make the difference; nothing without --from. A layout that cannot be simulated is
 * told as a hint. */
void rh_launched_print(const RhArguments *arguments, const RhInputs *inputs, const RhPlan *plan);
