/* vLLM's engine V0, of before 0.8: whole prompts go first, in iterations of their own (Kwon et al. 2023,
 * arXiv 2309.06180; vllm/core/scheduler.py, _schedule_default; chunked prefill is off by default). */
#include "strategies/serve/schedulers/schedulers.h"

static bool plan(RhReplica *r)
{
    return rh_scheduler_read_prompts(r, rh_replica_pool(r)->chunk, false) == 0;
}

const RhScheduler rh_scheduler_vllm_prefill = {
    .name = "vllm-v0",
    .about = "whole prompts first, alone; then tokens of all that run",
    .plan = plan,
    .closes_door = true};
