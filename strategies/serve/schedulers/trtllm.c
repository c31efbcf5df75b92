/* TensorRT-LLM with chunked context: in-flight batching, and no sequence is ever evicted (GUARANTEED_NO_EVICT). */
#include "strategies/serve/schedulers/schedulers.h"

const RhScheduler rh_scheduler_trtllm = {
    .name = "trtllm",
    .about = "in flight: as vllm, with the cache reserved for the whole answer",
    .plan = rh_scheduler_plan_mixed,
    .reserves = true};
