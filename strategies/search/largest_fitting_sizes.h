#pragma once
/* Reach of a layout's memory: the largest micro-batch, sequence and rank of adapters at which it
 * still fits, and what makes it fit where it does not. In closed form (rh_train_memory). */
#include "strategies/search/memory_savers.h"

/* Largest values that fit while all else stays; 0: even the least does not, -1: not looked for. */
typedef struct {
    int64_t microbatch;    /* samples, at the job's sequence and number of micro-batches */
    int64_t sequence;      /* tokens, at micro-batch 1 */
    int64_t lora_rank;     /* a power of two, at the layout's micro-batch */
    bool sequence_is_most; /* longer ones have no positions in the model */
} RhLargestMemory;

/* Does the layout with these numbers keep within `room_bytes`, its device and its host? False also
 * where it is not legal. */
bool rh_memory_holds(const RhProblem *c, const RhLayout *layout, double room_bytes);

/* Returns a multiple n of `step` up to `most` that fits while n + step does not, or is `most`; 0:
 * none was found. Memory need not increase with n: the search begins at the largest doubling of
 * `step` that fits. */
int64_t rh_memory_largest(bool (*fits)(int64_t n, void *user), void *user, int64_t step,
                          int64_t most);

#define RH_MEMORY_SEQUENCE_STEP   256 /* tokens: sequences that are tried are its multiples */
#define RH_MEMORY_MICROBATCH_MOST 4096
#define RH_MEMORY_RANK_MOST       1024
#define RH_MEMORY_RANK_PROPOSED   16 /* of adapters */

/* Longest sample that is tried, in tokens: the model's positions, if they are limited, or a pair of
 * such sequences. */
int64_t rh_memory_sequence_most(const RhProblem *c);

RhLargestMemory rh_memory_reach(const RhProblem *c, const RhLayout *layout, double room_bytes);

/* RhMemorySaver: single changes of a layout that do not keep within `room_bytes` after which it
 * does, quickest step first; then adapters in place of weights, and these beside weights in 4 bits.
 * Caller unrefs. */
GArray *rh_memory_room_makers(const RhProblem *c, const RhLayout *layout, double room_bytes);
