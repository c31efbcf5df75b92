/* Orca (Yu et al., OSDI 2022): whole prompts join the batch between any two iterations. */
#include "strategies/serve/schedulers/schedulers.h"

static bool plan(RhReplica *r)
{
    rh_scheduler_read_prompts(r, rh_replica_pool(r)->chunk, false);
    return true;
}

const RhScheduler rh_scheduler_orca = {
    .name = "orca",
    .about = "whole prompts beside tokens, with the cache reserved for the whole answer",
    .plan = plan,
    .reserves = true};
