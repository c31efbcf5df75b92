#pragma once
/* Slower memory behind a cache: units of prompts (prompt_prefixes.h) that it let go lie in the host's memory, those that
 * have lain there longest on its drives, and of these the oldest are forgotten. A unit is in one place: what is
 * loaded, or read again, leaves its tier. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { RH_CACHE_TIER_HOST, RH_CACHE_TIER_NVME, RH_CACHE_TIER_LAST } RhCacheTier;

typedef struct RhCacheTiers RhCacheTiers;

/* Room for so many units in each. */
RhCacheTiers *rh_cache_tiers_new(const int64_t units[RH_CACHE_TIER_LAST]);
void rh_cache_tiers_free(RhCacheTiers *tiers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCacheTiers, rh_cache_tiers_free)

/* The cache lets it go; it must be in no tier. */
void rh_cache_tiers_put(RhCacheTiers *tiers, uint64_t name);
/* RH_CACHE_TIER_LAST: in none. */
RhCacheTier rh_cache_tiers_find(const RhCacheTiers *tiers, uint64_t name);
/* Where it was; it is there no more. */
RhCacheTier rh_cache_tiers_take(RhCacheTiers *tiers, uint64_t name);
int64_t rh_cache_tiers_units(const RhCacheTiers *tiers, RhCacheTier tier);
