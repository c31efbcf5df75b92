#pragma once
/* The executor's timers: a binary heap of (time, order of arming) over fixed slots, so that a timer
 * can be moved or dropped in place. SimGrid owns the clock: one alarm of its stands for the
 * earliest timer. */
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double t_s;
    uint64_t order; /* ties fire in the order they were armed */
    int32_t slot;
} RhTimer;

typedef struct {
    RhTimer *heap;
    int32_t *position; /* of each slot; -1 = not armed */
    int32_t count, slots_count;
    uint64_t orders;
} RhTimers;

void rh_timers_init(RhTimers *timers, int32_t slots_count);
void rh_timers_clear(RhTimers *timers);
/* Room for more slots; those armed stay. */
void rh_timers_grow(RhTimers *timers, int32_t slots_count);
void rh_timers_arm(RhTimers *timers, int32_t slot, double t_s); /* or moves */
void rh_timers_disarm(RhTimers *timers, int32_t slot);          /* fine when not armed */
/* Takes the earliest timer if it is due by t_s; -1 when none is. */
int32_t rh_timers_take(RhTimers *timers, double t_s);
