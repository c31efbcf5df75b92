#pragma once
/* Prefix cache: units of prompts (prompt_prefixes.h), shared by sequences and reference-counted.
 * Units without a holder stay until their blocks are needed; eviction is least recently used first
 * and, for units released together, the end of the prompt first (as vLLM's queue of free blocks and
 * SGLang's radix tree do). */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/cache/prompt_prefixes.h"

typedef struct RhPrefixCache RhPrefixCache;

/* Returns an empty cache, which borrows both. Evicted units go to `tiers`; NULL: they are
 * dropped. Each attention group finds only units of its own requests, which are dealt out in
 * turn (assumed). */
RhPrefixCache *rh_prefix_cache_new(const RhPromptPrefixes *prompts, int32_t groups,
                                   RhCacheTiers *tiers);
void rh_prefix_cache_free(RhPrefixCache *prefixes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPrefixCache, rh_prefix_cache_free)

/* Returns a unit's name in the cache of the request's attention group. */
uint64_t rh_prefix_cache_name(const RhPrefixCache *prefixes, int32_t request, int32_t unit);
/* Gets the cached units at the beginning of a request's prompt, at most `most`; *idle: number of
 * them without a holder. They stay valid until the version changes. */
void rh_prefix_cache_find(const RhPrefixCache *prefixes, int32_t request, int32_t most,
                          GPtrArray *units, int32_t *idle);
/* Adds a holder to the first `count` of the units found. */
void rh_prefix_cache_hold(RhPrefixCache *prefixes, const GPtrArray *units, int32_t count);
/* Adds a holder to a unit that was computed, inserts it if it is not cached, removes it from its
 * tier, and appends it to `units`. Returns whether it had a holder before. */
bool rh_prefix_cache_add(RhPrefixCache *prefixes, int32_t request, int32_t unit, GPtrArray *units);
/* Removes a holder from all `units` and empties the array. Returns the number of units that have no
 * holder now. */
int32_t rh_prefix_cache_release(RhPrefixCache *prefixes, GPtrArray *units);
/* Evicts units without holders until `left` of them remain. */
void rh_prefix_cache_shrink(RhPrefixCache *prefixes, int64_t left);
/* Returns a version number that changes whenever results of rh_prefix_cache_find() may change. */
int64_t rh_prefix_cache_version(const RhPrefixCache *prefixes);
