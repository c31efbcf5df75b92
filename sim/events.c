#include "sim/events.h"

#include <math.h>

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

static RhTimedEvent *at(const RhEvents *events, guint i)
{
    return &g_array_index(events->heap, RhTimedEvent, i);
}

static bool before(const RhTimedEvent *a, const RhTimedEvent *b)
{
    return a->t_s < b->t_s || (a->t_s <= b->t_s && a->number < b->number);
}

int64_t rh_events_add(RhEvents *events, double t_s, int32_t kind, int32_t who)
{
    RhTimedEvent event = {t_s, kind, who, events->added++};
    guint i = events->heap->len;
    g_array_append_val(events->heap, event);
    for (guint up = (i - 1) / 2; i > 0 && before(&event, at(events, up)); up = (i - 1) / 2) {
        *at(events, i) = *at(events, up);
        i = up;
    }
    *at(events, i) = event;
    return event.number;
}

double rh_events_next_s(const RhEvents *events)
{
    return events->heap->len > 0 ? g_array_index(events->heap, RhTimedEvent, 0).t_s : HUGE_VAL;
}

bool rh_events_next(RhEvents *events, RhTimedEvent *event)
{
    guint count = events->heap->len;
    if (count == 0)
        return false;
    *event = *at(events, 0);
    RhTimedEvent last = *at(events, --count);
    guint i = 0;
    for (guint child = 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && before(at(events, child + 1), at(events, child)))
            child++;
        if (!before(at(events, child), &last))
            break;
        *at(events, i) = *at(events, child);
        i = child;
    }
    *at(events, i) = last;
    g_array_set_size(events->heap, count);
    return true;
}
