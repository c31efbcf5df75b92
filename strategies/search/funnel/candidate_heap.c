#include "strategies/search/funnel/candidate_heap.h"

#include <math.h>

static bool before(const RhCandidate *a, const RhCandidate *b)
{
    return a->key != b->key ? a->key < b->key : a->layout < b->layout;
}

static RhCandidate *at(const GArray *heap, guint i)
{
    return &g_array_index(heap, RhCandidate, i);
}

static void swap(GArray *heap, guint i, guint j)
{
    RhCandidate t = *at(heap, i);
    *at(heap, i) = *at(heap, j);
    *at(heap, j) = t;
}

void rh_candidate_heap_push(GArray *heap, RhCandidate c)
{
    g_array_append_val(heap, c);
    for (guint i = heap->len - 1; i > 0 && before(at(heap, i), at(heap, (i - 1) / 2));
         i = (i - 1) / 2)
        swap(heap, i, (i - 1) / 2);
}

RhCandidate rh_candidate_heap_pop(GArray *heap)
{
    RhCandidate top = *at(heap, 0);
    *at(heap, 0) = *at(heap, heap->len - 1);
    g_array_set_size(heap, heap->len - 1);
    for (guint i = 0;;) {
        guint least = i;
        for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++)
            if (before(at(heap, child), at(heap, least)))
                least = child;
        if (least == i)
            return top;
        swap(heap, i, least);
        i = least;
    }
}

const RhCandidate *rh_candidate_heap_top(const GArray *heap)
{
    return at(heap, 0);
}

double rh_candidate_heap_least(const GArray *heap)
{
    return heap->len ? at(heap, 0)->key : (double)INFINITY;
}
