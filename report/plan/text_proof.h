#pragma once
/* Describes a plan's proof of optimality: how much better an omitted layout can be, what the proof
 * excludes, or why there is none. */
#include "strategies/search/plan.h"

/* Appends a sentence without its full stop to `text`; `verbose` adds which steps are extrapolated. */
void rh_report_append_proof(GString *text, const RhPlan *plan, const RhPlanOptions *options,
                            bool verbose);
