#pragma once
/* Lower bound of the recomputation that a layout needs to fit in memory. Private to this folder. */
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    uint32_t modules; /* that may be recomputed: bits of RhRecompute */
    bool uneven;      /* chunks may differ in how many layers they recompute */
    bool shares_open; /* the sharding of states is open, too */
    bool instead;     /* another knob may replace recomputation (RhKnob.instead) */
    double most_bytes;
} RhRecomputeQuestion;
/* Fraction by which the activations of a stage's micro-batches in flight exceed the memory; above
 * 1: no recomputation makes the layout fit. */
typedef struct {
    double frac;
    int32_t stage; /* the fullest */
} RhMemoryExcess;
/* Returns the excess of the fullest stage without recomputation; it does not depend on the order of
 * ranks. */
RhMemoryExcess rh_bound_memory_excess(RhBoundCache *cache, const RhLayout *layout,
                                      const RhRecomputeQuestion *question);
/* Returns a lower bound, in seconds, of the layout's step under any recomputation that makes it fit
 * in most_bytes; INFINITY: none does. Counts what stages communicate unless their shares are
 * open. */
double rh_bound_recomputed_s(RhBoundCache *cache, const RhLayout *layout,
                             const RhRecomputeQuestion *question, RhMemoryExcess excess);
