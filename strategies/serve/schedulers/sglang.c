/* SGLang: prompts go first, and iterations that read them do nothing else (Zheng et al. 2024, arXiv
 * 2312.07104; chunked prefill without mixing is its default). */
#include "strategies/serve/schedulers/schedulers.h"

static bool plan(RhReplica *r)
{
    return rh_scheduler_read_prompts(r, rh_replica_pool(r)->chunk, true) == 0;
}

const RhScheduler rh_scheduler_sglang = {
    .name = "sglang", .about = "prompts first, alone; then tokens of all that run", .plan = plan};
