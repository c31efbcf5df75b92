#pragma once
/* `plan --beside FILE`: plans a job beside other jobs. */
#include "cli/multi_job/job_list.h"
#include "strategies/search/plan.h"

/* Checks that --beside and --on agree with the other options. RH_ERROR_USAGE. */
bool rh_plan_with_jobs_check(const RhArguments *arguments,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs rh_plan_with_jobs for the files; NULL with RH_ERROR_INPUT, RH_ERROR_USAGE or an error of the
 * search. */
RhPlan *rh_plan_with_jobs_of(const RhArguments *arguments, const RhInputs *inputs,
                             const RhPlanOptions *options,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
