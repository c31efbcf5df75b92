/* The schedulers: what an iteration works on. */
#include <string.h>

#include "strategies/serve/scheduler.h"

/* Chunks of prompts for so many tokens, first of those that are in, then of those that wait; a prompt
 * that does not fit is cut where `cuts`, or waits for an iteration of its own. Returns the tokens. */
static int32_t read_prompts(RhReplica *r, int32_t budget, bool cuts)
{
    int32_t left = budget;
    for (int32_t i = 0, sequence; left > 0 && (sequence = rh_replica_reading(r, i)) >= 0; i++) {
        int32_t tokens = MIN(rh_replica_unread(r, sequence), left);
        if (!rh_replica_chunk(r, sequence, tokens))
            return budget - left;
        left -= tokens;
    }
    for (int32_t sequence; left > 0 && (sequence = rh_replica_waiting(r)) >= 0;) {
        int32_t unread = rh_replica_unread(r, sequence), tokens = MIN(unread, left);
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

/* vLLM v1: all that run have a token, prompts have what the budget leaves, cut where it ends; first
 * come, first served (docs.vllm.ai, "Optimization and Tuning", chunked prefill). */
static bool plan_mixed(RhReplica *r)
{
    read_prompts(r, rh_replica_pool(r)->chunk - rh_replica_judged(r), true);
    return true;
}

/* SGLang: prompts go first, and iterations that read them do nothing else (Zheng et al. 2024, arXiv
 * 2312.07104; chunked prefill without mixing is its default). */
static bool plan_prompts_first(RhReplica *r)
{
    return read_prompts(r, rh_replica_pool(r)->chunk, true) == 0;
}

/* Orca (Yu et al., OSDI 2022): whole prompts join the batch between any two iterations. */
static bool plan_whole(RhReplica *r)
{
    read_prompts(r, rh_replica_pool(r)->chunk, false);
    return true;
}

/* TensorRT-LLM without chunked context, which is off by default there: as plan_mixed, but a prompt that the budget
 * does not hold waits for the next iteration (nvidia.github.io/TensorRT-LLM, "Tuning Max Batch Size and Max Num
 * Tokens"). */
static bool plan_mixed_whole(RhReplica *r)
{
    read_prompts(r, rh_replica_pool(r)->chunk - rh_replica_judged(r), false);
    return true;
}

/* All of a batch begin together, and the next begins when the last of it has ended; where there is a window, not
 * before it is full or its first request has waited so long (dynamic batching: Triton's max_queue_delay_microseconds,
 * docs.nvidia.com, "Dynamic Batcher"). */
static bool plan_static(RhReplica *r)
{
    if (rh_replica_running(r) > 0 && rh_replica_reading(r, 0) < 0)
        return true;
    if (!rh_replica_gathers(r))
        read_prompts(r, INT32_MAX, true);
    return false;
}

static const RhScheduler rows[] = {
    {.name = "vllm",
     .about = "tokens of all that run, and chunks of prompts beside them",
     .plan = plan_mixed,
     .closes_door = true,
     .finds_again = true},
    {.name = "sglang",
     .about = "prompts first, alone; then tokens of all that run",
     .plan = plan_prompts_first},
    {.name = "trtllm",
     .about = "in flight: as vllm, with the cache reserved for the whole answer",
     .plan = plan_mixed,
     .reserves = true},
    {.name = "trtllm-whole",
     .about = "as trtllm, prompts in one piece",
     .plan = plan_mixed_whole,
     .reserves = true},
    {.name = "orca",
     .about = "whole prompts beside tokens, with the cache reserved for the whole answer",
     .plan = plan_whole,
     .reserves = true},
    {.name = "static",
     .about = "a batch begins when the one before it has ended",
     .plan = plan_static,
     .reserves = true,
     .gathers = true},
};

const RhScheduler *rh_scheduler_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}
