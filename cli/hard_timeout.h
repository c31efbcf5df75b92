#pragma once
/* The end of --timeout where work does not look at the clock.
 *
 * Searches and rehearsals stop by themselves and tell what they know by then. What is deaf to it, as
 * building a program of a million ranks, ends here: a while later, with nothing but an error. */

/* From now on; 0: never. */
void rh_hard_timeout_begin(double timeout_s);
/* No more: what was asked is answered. */
void rh_hard_timeout_end(void);
