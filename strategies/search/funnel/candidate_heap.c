#include "strategies/search/funnel/candidate_heap.h"

#include <math.h>

#include "base/heap.h"

static inline bool is_before(const RhCandidate *a, const RhCandidate *b)
{
    return a->key != b->key ? a->key < b->key : a->layout < b->layout;
}

RH_HEAP(candidate_heap, RhCandidate, is_before)

void rh_candidate_heap_push(GArray *heap, RhCandidate c)
{
    candidate_heap_push(heap, c);
}

RhCandidate rh_candidate_heap_pop(GArray *heap)
{
    return candidate_heap_remove(heap, 0);
}

const RhCandidate *rh_candidate_heap_top(const GArray *heap)
{
    return &g_array_index(heap, RhCandidate, 0);
}

double rh_candidate_heap_least(const GArray *heap)
{
    return heap->len > 0 ? rh_candidate_heap_top(heap)->key : (double)INFINITY;
}
