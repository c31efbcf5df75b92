#pragma once
/* Binary heaps with the least element first, as functions over an array of one type, so that
 * comparisons are inlined:
 *
 *     static inline bool is_earlier(const Event *a, const Event *b) { return a->t_s < b->t_s; }
 *     RH_HEAP(event_heap, Event, is_earlier)
 *
 * defines event_heap_push(heap, event) and event_heap_remove(heap, i), `heap` being a GArray of
 * Event. Remove index 0 for the least. The order in which elements leave is defined if no two are
 * equal. */
#include "base/garray_access.h"

/* Defines PREFIX_fill(owner, heap, count, at, item), which puts an element into a hole at an index of
 * a heap of `count` elements, and its two halves, PREFIX_rise and PREFIX_sink, which move the hole
 * towards the top and the bottom until the order holds. `moved(owner, item, at)` is called for each
 * element that gets another index. */
#define RH_HEAP_SIFT(prefix, Type, Owner, is_before, moved)                                        \
    static inline void prefix##_rise(Owner *owner, Type *heap, guint at, Type item)                \
    {                                                                                              \
        for (guint up; at > 0 && is_before(&item, &heap[up = (at - 1) / 2]); at = up) {            \
            heap[at] = heap[up];                                                                   \
            moved(owner, &heap[at], at);                                                           \
        }                                                                                          \
        heap[at] = item;                                                                           \
        moved(owner, &heap[at], at);                                                               \
    }                                                                                              \
    static inline void prefix##_sink(Owner *owner, Type *heap, guint count, guint at, Type item)   \
    {                                                                                              \
        for (guint child; (child = 2 * at + 1) < count; at = child) {                              \
            if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))                    \
                child++;                                                                           \
            if (!is_before(&heap[child], &item))                                                   \
                break;                                                                             \
            heap[at] = heap[child];                                                                \
            moved(owner, &heap[at], at);                                                           \
        }                                                                                          \
        heap[at] = item;                                                                           \
        moved(owner, &heap[at], at);                                                               \
    }                                                                                              \
    static inline void prefix##_fill(Owner *owner, Type *heap, guint count, guint at, Type item)   \
    {                                                                                              \
        if (at > 0 && is_before(&item, &heap[(at - 1) / 2]))                                       \
            prefix##_rise(owner, heap, at, item);                                                  \
        else                                                                                       \
            prefix##_sink(owner, heap, count, at, item);                                           \
    }

/* For heaps whose elements nobody follows. */
static inline void rh_heap_untracked(const GArray *heap, const void *item, guint at)
{
    (void)heap, (void)item, (void)at;
}

#define RH_HEAP(prefix, Type, is_before)                                                           \
    RH_HEAP_SIFT(prefix, Type, GArray, is_before, rh_heap_untracked)                               \
    static inline void prefix##_push(GArray *heap, Type item)                                      \
    {                                                                                              \
        g_array_append_val(heap, item);                                                            \
        prefix##_rise(heap, RH_AT(heap, Type, 0), heap->len - 1, item);                            \
    }                                                                                              \
    static inline Type prefix##_remove(GArray *heap, guint at)                                     \
    {                                                                                              \
        Type *items = RH_AT(heap, Type, 0);                                                        \
        Type taken = items[at], last = items[heap->len - 1];                                       \
        g_array_set_size(heap, heap->len - 1);                                                     \
        if (at < heap->len)                                                                        \
            prefix##_fill(heap, items, heap->len, at, last);                                       \
        return taken;                                                                              \
    }
