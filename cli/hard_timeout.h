#pragma once
/* Hard limit of --timeout for work that does not check the clock.
 *
 * Searches and rehearsals stop at the timeout and report what they have. Work that cannot, such as
 * building a program of a million ranks, is ended somewhat later with an error. */

/* Starts the limit; 0: none. */
void rh_hard_timeout_begin(double timeout_s);
/* Ends the limit, when the answer is complete. */
void rh_hard_timeout_end(void);
