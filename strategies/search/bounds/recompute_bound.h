#pragma once
/* What recomputation costs at the least so that a layout keeps within its memory. Private to this folder. */
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    uint32_t modules; /* that may be recomputed: bits of RhRecompute */
    bool uneven;      /* chunks may differ in how many layers they recompute */
    bool shares_open; /* what is shared out is open, too */
    bool instead;     /* something else may take its place (RhKnob.instead) */
    double most_bytes;
} RhRecomputeQuestion;
/* How much of the activations that a stage's micro-batches in flight keep is too much; frac above 1: nothing makes it fit. */
typedef struct {
    double frac;
    int32_t stage; /* the fullest */
} RhMemoryExcess;
/* What the fullest stage has too much without recomputation; no order of ranks changes it. */
RhMemoryExcess rh_bound_memory_excess(RhBoundCache *cache, const RhLayout *layout,
                                      const RhRecomputeQuestion *question);
/* No step of the layout is shorter, whatever of its activations is recomputed so that it keeps within most_bytes; INFINITY:
 * nothing makes it keep within. */
double rh_bound_recomputed_s(RhBoundCache *cache, const RhLayout *layout,
                             const RhRecomputeQuestion *question, RhMemoryExcess excess);
