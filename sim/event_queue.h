#pragma once
/* Event queue: events come out in order of time, and those of equal time in the order in which they
 * were added. The caller defines what an event means (failures, arrivals, ends of iterations). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double t_s;
    int32_t kind, who; /* defined by the caller */
    int64_t number;    /* sequence number; tells an outdated event from its replacement */
} RhTimedEvent;

typedef struct {
    GArray *heap; /* RhTimedEvent */
    int64_t added;
} RhEvents;

RhEvents *rh_events_new(void);
void rh_events_free(RhEvents *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEvents, rh_events_free)

/* Adds an event and returns its number. */
int64_t rh_events_add(RhEvents *events, double t_s, int32_t kind, int32_t who);
/* Returns the time of the earliest event; HUGE_VAL when there is none. */
double rh_events_next_s(const RhEvents *events);
/* Removes the earliest event into *event; returns false when there is none. */
bool rh_events_next(RhEvents *events, RhTimedEvent *event);
