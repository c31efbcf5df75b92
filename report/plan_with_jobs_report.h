#pragma once
/* Reports the effect of co-located jobs on a plan (strategies/search/colocation/plan_with_jobs.h), as
 * text and JSON. */
#include "base/json/json.h"
#include "strategies/search/colocation/plan_with_jobs.h"

/* Appends the first lines of the answer: the best layout beside the other jobs, where they are
 * avoided, and both tables. */
void rh_report_append_beside(GString *out, const RhPlan *plan, double gap_frac);
/* Writes member "beside" where the plan has one. */
void rh_put_plan_beside(RhJsonWriter *w, const RhPlan *plan);
