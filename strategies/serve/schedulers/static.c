/* Static batching: all of a batch begin together, and the next begins when the last of it has
 * ended; with a window, not before the batch is full or its first request has waited so long
 * (dynamic batching: Triton's max_queue_delay_microseconds, docs.nvidia.com, "Dynamic Batcher"). */
#include "strategies/serve/schedulers/schedulers.h"

static bool plan(RhReplica *r)
{
    bool under_way = rh_replica_running(r) > 0 && rh_replica_reading(r, 0) < 0;
    if (!under_way && !rh_replica_gathers(r))
        rh_scheduler_read_prompts(r, INT32_MAX, true);
    /* prompts that another pool has read leave nothing to read: their answers continue at once */
    return rh_replica_running(r) > 0 && rh_replica_reading(r, 0) < 0;
}

const RhScheduler rh_scheduler_static = {.name = "static",
                                         .about = "a batch begins when the one before it has ended",
                                         .plan = plan,
                                         .reserves = true,
                                         .gathers = true};
