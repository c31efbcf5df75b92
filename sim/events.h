#pragma once
/* Things that happen at known times, earliest first; of those at one time, in the order in which they
 * were added. What they mean is the affair of whoever drives a policy by them (DESIGN: failures,
 * arrivals, ends of iterations). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double t_s;
    int32_t kind, who; /* the driver's own */
    int64_t number;    /* in the order of adding; also what tells an old event from its successor */
} RhTimedEvent;

typedef struct {
    GArray *heap; /* RhTimedEvent */
    int64_t added;
} RhEvents;

RhEvents *rh_events_new(void);
void rh_events_free(RhEvents *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhEvents, rh_events_free)

/* Returns its number. */
int64_t rh_events_add(RhEvents *events, double t_s, int32_t kind, int32_t who);
/* When the earliest is; HUGE_VAL: there is none. */
double rh_events_next_s(const RhEvents *events);
/* Takes the earliest; false when there is none. */
bool rh_events_next(RhEvents *events, RhTimedEvent *event);
