/* How schedulers read prompts, which several of them share. */
#include "strategies/serve/schedulers/schedulers.h"

/* Returns the tokens of one prompt that an iteration reads at most: those of one batch, of one group of
 * attention and one stage; without a limit where the budget has none. */
static int32_t most_of_prompt(const RhPool *pool, int32_t budget)
{
    return budget > pool->chunk ? budget : MAX(pool->chunk / rh_pool_batches(pool), 1);
}

int32_t rh_scheduler_read_prompts(RhReplica *r, int32_t budget, bool cuts)
{
    int32_t left = budget, most = most_of_prompt(rh_replica_pool(r), budget);
    for (int32_t i = 0, sequence; left > 0 && (sequence = rh_replica_reading(r, i)) >= 0; i++) {
        int32_t tokens = MIN(rh_replica_unread(r, sequence), MIN(left, most));
        if (!rh_replica_chunk(r, sequence, tokens))
            return budget - left;
        left -= tokens;
    }
    for (int32_t sequence; left > 0 && (sequence = rh_replica_waiting(r)) >= 0;) {
        int32_t unread = rh_replica_unread(r, sequence), tokens = MIN(unread, MIN(left, most));
        bool alone = left == budget;
        if (!cuts)
            tokens = unread;
        if ((tokens > left && !alone) || !rh_replica_admit(r, tokens))
            break;
        if (tokens > 0)
            rh_replica_chunk(r, sequence, tokens);
        left -= MIN(tokens, left);
    }
    return budget - left;
}

bool rh_scheduler_plan_mixed(RhReplica *r)
{
    rh_scheduler_read_prompts(r, rh_replica_pool(r)->chunk - rh_replica_verified(r), true);
    return true;
}
