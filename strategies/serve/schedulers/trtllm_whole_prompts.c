/* TensorRT-LLM without chunked context, its default: a prompt that the budget does not hold waits
 * for the next iteration (nvidia.github.io/TensorRT-LLM, "Tuning Max Batch Size and Max Num
 * Tokens"). */
#include "strategies/serve/schedulers/schedulers.h"

static bool plan(RhReplica *r)
{
    rh_scheduler_read_prompts(r, rh_replica_pool(r)->chunk - rh_replica_verified(r), false);
    return true;
}

const RhScheduler rh_scheduler_trtllm_whole = {.name = "trtllm-whole",
                                               .about = "as trtllm, prompts in one piece",
                                               .plan = plan,
                                               .reserves = true};
