#include "sim/engine/timers.h"

#include <glib.h>
#include <string.h>

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

static inline bool before(const RhTimer *a, const RhTimer *b)
{
    return a->t_s < b->t_s || (a->t_s <= b->t_s && a->order < b->order);
}

static inline void put(RhTimers *timers, int32_t at, RhTimer timer)
{
    timers->heap[at] = timer;
    timers->position[timer.slot] = at;
}

static void sift_up(RhTimers *timers, int32_t at, RhTimer timer)
{
    while (at > 0) {
        int32_t parent = (at - 1) / 2;
        if (!before(&timer, &timers->heap[parent]))
            break;
        put(timers, at, timers->heap[parent]);
        at = parent;
    }
    put(timers, at, timer);
}

static void sift_down(RhTimers *timers, int32_t at, RhTimer timer)
{
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!before(&timers->heap[child], &timer))
            break;
        put(timers, at, timers->heap[child]);
        at = child;
    }
    put(timers, at, timer);
}

void rh_timers_arm(RhTimers *timers, int32_t slot, double t_s)
{
    RhTimer timer = {t_s, timers->orders++, slot};
    int32_t at = timers->position[slot];
    if (at < 0)
        sift_up(timers, timers->count++, timer);
    else if (before(&timer, &timers->heap[at]))
        sift_up(timers, at, timer);
    else
        sift_down(timers, at, timer);
}

void rh_timers_disarm(RhTimers *timers, int32_t slot)
{
    int32_t at = timers->position[slot];
    if (at < 0)
        return;
    timers->position[slot] = -1;
    RhTimer last = timers->heap[--timers->count];
    if (at == timers->count)
        return;
    if (before(&last, &timers->heap[at]))
        sift_up(timers, at, last);
    else
        sift_down(timers, at, last);
}

int32_t rh_timers_take(RhTimers *timers, double t_s)
{
    if (timers->count == 0 || timers->heap[0].t_s > t_s)
        return -1;
    int32_t slot = timers->heap[0].slot;
    timers->position[slot] = -1;
    timers->count--;
    if (timers->count > 0)
        sift_down(timers, 0, timers->heap[timers->count]);
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
