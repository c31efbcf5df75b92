#pragma once
/* Queue of free cache blocks in the order of their reuse: blocks freed first are reused first, and
 * of one sequence its last blocks first. Until then a preempted sequence may find its tokens in
 * them again (vLLM's queue of free blocks, for prompts without hashes: prompt_prefixes.h). */
#include <glib.h>
#include <stdint.h>

#define RH_FREED_NOBODY (-1) /* sequence number for blocks that are never found again */

typedef struct RhFreeQueue RhFreeQueue;

RhFreeQueue *rh_free_queue_new(void);
void rh_free_queue_free(RhFreeQueue *freed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFreeQueue, rh_free_queue_free)

/* Appends the blocks of a sequence. */
void rh_free_queue_put(RhFreeQueue *freed, int32_t sequence, int32_t blocks);
/* Removes blocks from the front until `left` blocks are free. */
void rh_free_queue_shrink(RhFreeQueue *freed, int64_t left);
/* Returns the number of free blocks that still hold the sequence's tokens, from its first block
 * on. */
int32_t rh_free_queue_blocks(const RhFreeQueue *freed, int32_t sequence);
/* Removes the first `blocks` of them for reuse by the sequence; the others stay free but are no
 * longer found. */
void rh_free_queue_take(RhFreeQueue *freed, int32_t sequence, int32_t blocks);
