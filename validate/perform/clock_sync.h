#pragma once
/* One clock for all ranks: each rank's monotonic clock, less its offset to rank 0's. */
#include <mpi.h>

/* Seconds of this machine's monotonic clock. */
double rh_clock_now_s(void);
/* This rank's clock minus rank 0's, by the quickest of some round trips (Cristian 1989); 0 on rank
 * 0. Collective over `comm`. */
double rh_clock_offset_s(MPI_Comm comm);
/* Sleeps for about this long; without it, idle ranks would take the processor from busy ones. */
void rh_clock_nap(double seconds);

/* Seconds that a hypervisor has taken from this machine, a processor's mean, since it started; 0
 * where the system does not say. Counted in ticks of 10 ms. */
double rh_clock_stolen_s(void);
