#pragma once
/* What neighbours do to a plan (strategies/search/co_jobs/plan_with_jobs.h), as text and JSON. */
#include "base/json.h"
#include "strategies/search/co_jobs/plan_with_jobs.h"

/* The first lines of the answer: the best beside them, where they are avoided, and both tables. */
void rh_report_append_beside(GString *out, const RhPlan *plan, double gap_frac);
/* Key "beside", where the plan has one. */
void rh_put_plan_beside(RhJsonWriter *w, const RhPlan *plan);
