/* vLLM v1: all running sequences get a token, prompts get the rest of the budget, cut at its end;
 * first come, first served (docs.vllm.ai, "Optimization and Tuning", chunked prefill). */
#include "strategies/serve/schedulers/schedulers.h"

const RhScheduler rh_scheduler_vllm = {
    .name = "vllm",
    .about = "tokens of all that run, and chunks of prompts beside them",
    .plan = rh_scheduler_plan_mixed,
    .closes_door = true,
    .finds_again = true};
