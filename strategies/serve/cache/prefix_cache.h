#pragma once
/* The cache's memory of prompts: units (prompt_prefixes.h) that sequences hold together, and units that nobody
 * holds any more, kept until their blocks are wanted; the one held least lately goes first, and of those
 * let go together the last of the prompt (vLLM's queue of free blocks and SGLang's radix tree do the
 * same). */
#include "strategies/serve/cache/cache_tiers.h"
#include "strategies/serve/cache/prompt_prefixes.h"

typedef struct RhPrefixCache RhPrefixCache;

/* Borrows both. What is forgotten goes to `tiers`; NULL: nowhere. Each of the groups of attention finds what its own
 * requests left alone; they get the requests in turn (assumed). */
RhPrefixCache *rh_prefix_cache_new(const RhPromptPrefixes *prompts, int32_t groups,
                                   RhCacheTiers *tiers);
void rh_prefix_cache_free(RhPrefixCache *prefixes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPrefixCache, rh_prefix_cache_free)

/* A unit's name in the cache of the request's group. */
uint64_t rh_prefix_cache_name(const RhPrefixCache *prefixes, int32_t request, int32_t unit);
/* Of the first `most` units of a request, those that are here from the first one on, as `units`; *idle: how
 * many of them nobody holds. They are there until the version is another. */
void rh_prefix_cache_find(const RhPrefixCache *prefixes, int32_t request, int32_t most,
                          GPtrArray *units, int32_t *idle);
/* One more holder of the first `count` of units that were found. */
void rh_prefix_cache_hold(RhPrefixCache *prefixes, const GPtrArray *units, int32_t count);
/* The same of one that was read; it comes in when it is not here, and is appended to `units`. True: somebody
 * held it already. It leaves its tier. */
bool rh_prefix_cache_add(RhPrefixCache *prefixes, int32_t request, int32_t unit, GPtrArray *units);
/* One holder less of all `units`, which are then none. Returns how many nobody holds now. */
int32_t rh_prefix_cache_release(RhPrefixCache *prefixes, GPtrArray *units);
/* Forgets units that nobody holds until so many are left. */
void rh_prefix_cache_shrink(RhPrefixCache *prefixes, int64_t left);
/* Another number whenever what rh_prefix_cache_find() says may be another. */
int64_t rh_prefix_cache_version(const RhPrefixCache *prefixes);
