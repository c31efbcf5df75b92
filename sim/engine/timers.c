#include "sim/engine/timers.h"

#include <glib.h>
#include <string.h>

#include "base/heap.h"

void rh_timers_init(RhTimers *timers, int32_t slots_count)
{
    *timers = (RhTimers){.slots_count = slots_count};
    timers->heap = g_new0(RhTimer, slots_count + 1);
    timers->position = g_new(int32_t, slots_count + 1);
    memset(timers->position, 0xff, sizeof(int32_t) * (size_t)(slots_count + 1));
}

void rh_timers_clear(RhTimers *timers)
{
    g_free(timers->heap);
    g_free(timers->position);
    *timers = (RhTimers){0};
}

static inline bool is_earlier(const RhTimer *a, const RhTimer *b)
{
    return a->t_s < b->t_s || (a->t_s <= b->t_s && a->order < b->order);
}

static inline void moved(RhTimers *timers, const RhTimer *timer, guint at)
{
    timers->position[timer->slot] = (int32_t)at;
}

RH_HEAP_SIFT(timer_heap, RhTimer, RhTimers, is_earlier, moved)

void rh_timers_arm(RhTimers *timers, int32_t slot, double t_s)
{
    RhTimer timer = {t_s, timers->orders++, slot};
    int32_t at = timers->position[slot];
    if (at < 0)
        timer_heap_rise(timers, timers->heap, (guint)timers->count++, timer);
    else
        timer_heap_fill(timers, timers->heap, (guint)timers->count, (guint)at, timer);
}

/* Removes the timer at an index of the heap. */
static void remove_at(RhTimers *timers, int32_t at)
{
    timers->position[timers->heap[at].slot] = -1;
    timers->count--;
    if (at < timers->count)
        timer_heap_fill(timers, timers->heap, (guint)timers->count, (guint)at,
                        timers->heap[timers->count]);
}

void rh_timers_disarm(RhTimers *timers, int32_t slot)
{
    if (timers->position[slot] >= 0)
        remove_at(timers, timers->position[slot]);
}

int32_t rh_timers_take(RhTimers *timers, double t_s)
{
    if (timers->count == 0 || timers->heap[0].t_s > t_s)
        return -1;
    int32_t slot = timers->heap[0].slot;
    remove_at(timers, 0);
    return slot;
}

void rh_timers_grow(RhTimers *timers, int32_t slots_count)
{
    if (slots_count <= timers->slots_count)
        return;
    int32_t room = MAX(slots_count, 2 * timers->slots_count);
    timers->heap = g_renew(RhTimer, timers->heap, room + 1);
    timers->position = g_renew(int32_t, timers->position, room + 1);
    for (int32_t i = timers->slots_count; i < room; i++)
        timers->position[i] = -1;
    timers->slots_count = room;
}
