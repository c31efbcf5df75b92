#pragma once
/* What ends the rest of a rank that has nothing to do.
 *
 * MPI has no call that waits for "any progress, or this long". Where every message goes by TCP, as
 * in the lab, the process's own sockets tell: the rank sleeps until data comes, a full socket takes
 * more, or the time is up. Anywhere else it looks again after a short nap. Sixteen ranks that look
 * every 50 us fill two processors with looking alone. */
#include <stdbool.h>

typedef struct RhWake RhWake;

/* `sockets`: messages come by TCP and by nothing else. */
RhWake *rh_wake_new(bool sockets);
void rh_wake_free(RhWake *wake);
/* Takes notice of connections made meanwhile; one that is not known is looked at every ms. */
void rh_wake_refresh(RhWake *wake);
/* Until something may have happened, `seconds` at most; 0 only looks. Has MPI anything to do? */
bool rh_wake_wait(RhWake *wake, double seconds);
