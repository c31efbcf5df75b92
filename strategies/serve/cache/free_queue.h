#pragma once
/* Blocks of a cache that nobody holds, in the order in which they are used again: those let go first go first, and
 * of a sequence its end first. Until then a sequence that was put out finds in them what it had (vLLM's queue of free
 * blocks, where prompts have no names: prompt_prefixes.h). */
#include <glib.h>
#include <stdint.h>

#define RH_FREED_NOBODY (-1) /* whose blocks nobody asks for again */

typedef struct RhFreeQueue RhFreeQueue;

RhFreeQueue *rh_free_queue_new(void);
void rh_free_queue_free(RhFreeQueue *freed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFreeQueue, rh_free_queue_free)

/* They are let go now. */
void rh_free_queue_put(RhFreeQueue *freed, int32_t sequence, int32_t blocks);
/* So many blocks of the cache are free: others are in use again. */
void rh_free_queue_shrink(RhFreeQueue *freed, int64_t left);
/* Of a sequence, from its first block on. */
int32_t rh_free_queue_blocks(const RhFreeQueue *freed, int32_t sequence);
/* The first `blocks` of them are in use again, and the others are nobody's. */
void rh_free_queue_take(RhFreeQueue *freed, int32_t sequence, int32_t blocks);
