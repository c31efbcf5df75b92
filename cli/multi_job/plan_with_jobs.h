#pragma once
/* `plan --beside FILE`: the plan of a job that has neighbours. */
#include "cli/multi_job/job_list.h"
#include "strategies/search/plan.h"

/* May --beside and --on stand with the other words? RH_ERROR_USAGE. */
bool rh_plan_with_jobs_check(const RhArguments *arguments, GError **error);
/* rh_plan_with_jobs for the files; NULL with RH_ERROR_INPUT, RH_ERROR_USAGE or an error of the search. */
RhPlan *rh_plan_with_jobs_of(const RhArguments *arguments, const RhInputs *inputs,
                             const RhPlanOptions *options, GError **error);
