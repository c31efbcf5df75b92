#pragma once
/* Hash map from 64-bit keys to small integers, for counting and naming colours. It cannot be
 * iterated, so no result can depend on hash order. */
#include "base/hash.h"

typedef struct {
    uint64_t *keys; /* 0 = free; key 0 itself is moved to 1 */
    int32_t *values;
    uint32_t mask, used;
} RhMap64;

RhMap64 *rh_map64_new(void);
void rh_map64_free(RhMap64 *map);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMap64, rh_map64_free)
void rh_map64_clear(RhMap64 *map);
/* Returns a pointer to the value of key; a new key gets the value `fresh`. */
int32_t *rh_map64_at(RhMap64 *map, uint64_t key, int32_t fresh);
/* Returns the value of key, or -1. */
int32_t rh_map64_get(const RhMap64 *map, uint64_t key);
