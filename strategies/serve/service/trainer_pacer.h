#pragma once
/* A pacer: who decides from outside when the next requests are sent and when all servers stand
 * still, as a trainer does whose weights are served. Requests are sent in their order; their own
 * times say nothing. */
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    /* Returns how many of the next requests, or sessions, are sent at t_s; called after every event. Later turns
     * come by themselves. */
    int32_t (*releases)(void *self, double t_s);
    /* Returns a request under way that is dropped at once, the next one with every call; -1: none. NULL: never. */
    int32_t (*drops)(void *self);
    /* A request has ended, with its last token or without. */
    void (*ended)(void *self, int32_t request, double t_s);
    /* Returns the time of the pacer's next event; HUGE_VAL: it has none. */
    double (*next_s)(const void *self);
    void (*act)(void *self, double t_s); /* performs that event */
    /* Returns the time before which no server begins an iteration; those under way end. */
    double (*paused_until_s)(const void *self);
    bool (*over)(const void *self); /* whether the run may end */
    void *self;
} RhRequestPacer;
