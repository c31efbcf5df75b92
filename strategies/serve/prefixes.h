#pragma once
/* The cache's memory of prompts: units (prompts.h) that sequences hold together, and units that nobody
 * holds any more, kept until their blocks are wanted; the one held least lately goes first, and of those
 * let go together the last of the prompt (vLLM's queue of free blocks and SGLang's radix tree do the
 * same). */
#include "strategies/serve/prompts.h"

typedef struct RhPrefixes RhPrefixes;

RhPrefixes *rh_prefixes_new(const RhPrompts *prompts); /* borrows them */
void rh_prefixes_free(RhPrefixes *prefixes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPrefixes, rh_prefixes_free)

/* Of the first `most` units of a request, how many are here from the first one on; *idle: of these, those
 * that nobody holds. */
int32_t rh_prefixes_find(const RhPrefixes *prefixes, int32_t request, int32_t most, int32_t *idle);
/* One more holder of a unit, which comes in when it is not here. True: somebody held it already. */
bool rh_prefixes_hold(RhPrefixes *prefixes, int32_t request, int32_t unit);
/* One holder less of the first `units`. Returns how many nobody holds now. */
int32_t rh_prefixes_release(RhPrefixes *prefixes, int32_t request, int32_t units);
/* Forgets units that nobody holds until so many are left. */
void rh_prefixes_shrink(RhPrefixes *prefixes, int64_t left);
int64_t rh_prefixes_idle(const RhPrefixes *prefixes); /* units that nobody holds */
