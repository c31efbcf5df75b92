#pragma once
/* Transfer of collective times from forked processes to their parent, so that no other process
 * computes them again. Private to this folder. */
#include "base/serialize.h"
#include "strategies/search/bounds/bound_cache.h"

/* Start and end recording of the times of blocks' collectives that a forked process computes. The
 * caller frees the bytes. */
void rh_bound_begin_learning(RhBoundCache *cache);
GByteArray *rh_bound_end_learning(RhBoundCache *cache);
/* Adds the recorded times of a forked process to the parent's cache. */
void rh_bound_learn(RhBoundCache *cache, RhUnpack *in);
