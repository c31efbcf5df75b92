#pragma once
/* Timers of the executor: a binary heap of (time, order of arming) over fixed slots, so that a
 * timer can be moved or dropped in place. SimGrid owns the clock: its only alarm is set to the
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
    int32_t *position; /* per slot; -1: not armed */
    int32_t count, slots_count;
    uint64_t orders;
} RhTimers;

void rh_timers_init(RhTimers *timers, int32_t slots_count);
void rh_timers_clear(RhTimers *timers);
/* Adds slots; armed timers are unchanged. */
void rh_timers_grow(RhTimers *timers, int32_t slots_count);
void rh_timers_arm(RhTimers *timers, int32_t slot, double t_s); /* arms or moves a timer */
void rh_timers_disarm(RhTimers *timers, int32_t slot);          /* fine when not armed */
/* Removes the earliest timer if it is due by t_s and returns its slot; else -1. */
int32_t rh_timers_take(RhTimers *timers, double t_s);
