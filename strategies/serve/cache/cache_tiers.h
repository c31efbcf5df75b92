#pragma once
/* Slower tiers behind a KV cache: units of prompts (prompt_prefixes.h) that the cache evicts go to
 * host memory, the oldest of these to its drives, and the oldest there are dropped. A unit is in
 * one place: a unit that is loaded or recomputed leaves its tier. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { RH_CACHE_TIER_HOST, RH_CACHE_TIER_NVME, RH_CACHE_TIER_LAST } RhCacheTier;

typedef struct RhCacheTiers RhCacheTiers;

/* Returns empty tiers with a capacity of `units` each; the caller frees them. */
RhCacheTiers *rh_cache_tiers_new(const int64_t units[RH_CACHE_TIER_LAST]);
void rh_cache_tiers_free(RhCacheTiers *tiers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCacheTiers, rh_cache_tiers_free)

/* Stores a unit that the cache evicts; it must be in no tier. */
void rh_cache_tiers_put(RhCacheTiers *tiers, uint64_t name);
/* Returns the tier of a unit; RH_CACHE_TIER_LAST: none. */
RhCacheTier rh_cache_tiers_find(const RhCacheTiers *tiers, uint64_t name);
/* Removes a unit; returns the tier in which it was, or RH_CACHE_TIER_LAST. */
RhCacheTier rh_cache_tiers_take(RhCacheTiers *tiers, uint64_t name);
/* Returns the number of units in a tier. */
int64_t rh_cache_tiers_units(const RhCacheTiers *tiers, RhCacheTier tier);
