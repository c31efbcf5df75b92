#pragma once
/* Deadline on the monotonic clock, by which a call must return. Plain data, passed by value.
 *
 *     RhDeadline deadline = rh_deadline_in(o->timeout_s);
 *     while (work is left && !rh_deadline_passed(deadline)) ... */
#include <glib.h>
#include <math.h>
#include <stdbool.h>

typedef struct {
    gint64 t_end_us; /* in g_get_monotonic_time(); 0: never */
} RhDeadline;

/* Returns the deadline `timeout_s` seconds from now; 0 or less: never. */
static inline RhDeadline rh_deadline_in(double timeout_s)
{
    return (RhDeadline){
        timeout_s > 0 ? g_get_monotonic_time() + (gint64)(fmin(timeout_s, 1e9) * 1e6) : 0};
}

/* Returns the seconds until the deadline, negative afterwards; INFINITY for never. */
static inline double rh_deadline_left_s(RhDeadline deadline)
{
    return deadline.t_end_us ? (double)(deadline.t_end_us - g_get_monotonic_time()) / 1e6
                             : (double)INFINITY;
}

static inline bool rh_deadline_passed(RhDeadline deadline)
{
    return deadline.t_end_us && g_get_monotonic_time() >= deadline.t_end_us;
}
