#pragma once
/* The table of schedulers: the name of each row, the RhScheduler rh_scheduler_NAME that its file here defines. A new
 * one is its file and a line here. */
#include "strategies/serve/scheduler.h"

#define RH_SCHEDULERS(ROW)                                                                         \
    ROW(vllm)                                                                                      \
    ROW(sglang)                                                                                    \
    ROW(trtllm)                                                                                    \
    ROW(trtllm_whole)                                                                              \
    ROW(orca)                                                                                      \
    ROW(static)

#define RH_SCHEDULER_ROW(name) extern const RhScheduler rh_scheduler_##name;
RH_SCHEDULERS(RH_SCHEDULER_ROW)
#undef RH_SCHEDULER_ROW

/* --- What several do --- */

/* Chunks of prompts for so many tokens, first of those that are in, then of those that wait; a prompt
 * that does not fit is cut where `cuts`, or waits for an iteration of its own. Returns the tokens. */
int32_t rh_scheduler_read_prompts(RhReplica *replica, int32_t budget, bool cuts);
/* All that run have a token, prompts have what the budget leaves, cut where it ends. */
bool rh_scheduler_plan_mixed(RhReplica *replica);
