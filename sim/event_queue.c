#include "sim/event_queue.h"

#include <math.h>

#include "base/heap.h"

RhEvents *rh_events_new(void)
{
    RhEvents *events = g_new0(RhEvents, 1);
    events->heap = g_array_new(FALSE, FALSE, sizeof(RhTimedEvent));
    return events;
}

void rh_events_free(RhEvents *events)
{
    if (!events)
        return;
    g_array_unref(events->heap);
    g_free(events);
}

static inline bool is_earlier(const RhTimedEvent *a, const RhTimedEvent *b)
{
    return a->t_s < b->t_s || (a->t_s <= b->t_s && a->number < b->number);
}

RH_HEAP(event_heap, RhTimedEvent, is_earlier)

int64_t rh_events_add(RhEvents *events, double t_s, int32_t kind, int32_t who)
{
    event_heap_push(events->heap, (RhTimedEvent){t_s, kind, who, events->added});
    return events->added++;
}

double rh_events_next_s(const RhEvents *events)
{
    return events->heap->len > 0 ? g_array_index(events->heap, RhTimedEvent, 0).t_s : HUGE_VAL;
}

bool rh_events_next(RhEvents *events, RhTimedEvent *event)
{
    if (events->heap->len == 0)
        return false;
    *event = event_heap_remove(events->heap, 0);
    return true;
}
