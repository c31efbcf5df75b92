#pragma once
/* The table of schedulers: the name of each row, the RhScheduler rh_scheduler_NAME that its file
 * here defines. A new one is its file and a line here. */
#include "strategies/serve/scheduler.h"

#define RH_SCHEDULERS(ROW)                                                                         \
    ROW(vllm)                                                                                      \
    ROW(vllm_prefill)                                                                              \
    ROW(sglang)                                                                                    \
    ROW(trtllm)                                                                                    \
    ROW(trtllm_whole)                                                                              \
    ROW(orca)                                                                                      \
    ROW(static)

#define RH_SCHEDULER_ROW(name) extern const RhScheduler rh_scheduler_##name;
RH_SCHEDULERS(RH_SCHEDULER_ROW)
#undef RH_SCHEDULER_ROW

/* --- What several do --- */

/* Adds chunks of prompts for at most `budget` tokens, first of admitted sequences, then of waiting
 * ones. A prompt that does not fit is divided if `cuts`, else it waits for an iteration of its own.
 * Returns the number of tokens. */
int32_t rh_scheduler_read_prompts(RhReplica *replica, int32_t budget, bool cuts);
/* Plans an iteration that decodes all running sequences and gives the rest of the token budget to
 * prompts, dividing the last one. */
bool rh_scheduler_plan_mixed(RhReplica *replica);
