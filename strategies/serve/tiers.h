#pragma once
/* Slower memory behind a cache: units of prompts (prompts.h) that it let go lie in the host's memory, those that
 * have lain there longest on its drives, and of these the oldest are forgotten. A unit is in one place: what is
 * loaded, or read again, leaves its tier. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { RH_CACHE_TIER_HOST, RH_CACHE_TIER_NVME, RH_CACHE_TIER_LAST } RhCacheTier;

typedef struct RhTiers RhTiers;

/* Room for so many units in each. */
RhTiers *rh_tiers_new(const int64_t units[RH_CACHE_TIER_LAST]);
void rh_tiers_free(RhTiers *tiers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTiers, rh_tiers_free)

/* The cache lets it go; it must be in no tier. */
void rh_tiers_put(RhTiers *tiers, uint64_t name);
/* RH_CACHE_TIER_LAST: in none. */
RhCacheTier rh_tiers_find(const RhTiers *tiers, uint64_t name);
/* Where it was; it is there no more. */
RhCacheTier rh_tiers_take(RhTiers *tiers, uint64_t name);
int64_t rh_tiers_units(const RhTiers *tiers, RhCacheTier tier);
