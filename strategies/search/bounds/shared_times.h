#pragma once
/* Forked processes hand their parent the times of collectives that they found, so that no other finds them again. Private
 * to this folder. */
#include "base/serialize.h"
#include "strategies/search/bounds/bound_cache.h"

/* A forked process remembers what it finds of the time of blocks' collectives, which its parent then learns, so that no
 * other finds it again. The caller frees the bytes. */
void rh_bound_begin_learning(RhBoundCache *cache);
GByteArray *rh_bound_end_learning(RhBoundCache *cache);
void rh_bound_learn(RhBoundCache *cache, RhUnpack *in);
