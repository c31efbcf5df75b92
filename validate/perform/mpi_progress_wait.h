#pragma once
/* Waits of an idle rank for MPI progress or a timeout, a call that MPI lacks.
 *
 * Where every message uses TCP, as in the lab, the rank sleeps on the process's own sockets until
 * data arrives, a full socket has space, or the time is up. Elsewhere it polls after short sleeps.
 * Sixteen ranks that poll every 50 us would use two processors for polling alone. */
#include <stdbool.h>

typedef struct RhWake RhWake;

/* Makes the waiter; `sockets`: all messages use TCP. */
RhWake *rh_wake_new(bool sockets);
void rh_wake_free(RhWake *wake);
/* Adds connections made since; an unknown one is polled every ms. */
void rh_wake_refresh(RhWake *wake);
/* Waits until something may have happened, at most `seconds` (0 only polls). Returns whether MPI
 * has work to do. */
bool rh_wake_wait(RhWake *wake, double seconds);
