#pragma once
/* Reads the options of `rl-plan` that describe the job and the servers. */
#include "cli/parse/parsed_arguments.h"
#include "strategies/search/rl/rl_plan.h"

/* Reads algorithm, prompts, lengths and the rest. `lengths` (borrowed by the job) receives what
 * --requests holds. RH_ERROR_USAGE, or RH_ERROR_INPUT of a file. */
bool rh_rl_words_job(const RhArguments *arguments, RhRlJob *job, RhRequests **lengths,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads placement, steps ahead, transport and deployment. RH_ERROR_USAGE. */
bool rh_rl_words_search(const RhArguments *arguments, RhRlPlanOptions *options,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
