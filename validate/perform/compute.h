#pragma once
/* Kernels as real work of the processor: GEMMs by OpenBLAS in single precision, attention as the
 * two products of every head, all else as so many bytes read and written. In a thread of its own,
 * so that messages progress meanwhile, as they do beside a GPU. */
#include "sim/program.h"

typedef struct RhCompute RhCompute;

/* Room for every kernel of the program, and the thread. RH_ERROR_IO when OpenBLAS is not installed.
 */
RhCompute *rh_compute_new(const RhProgram *p, GError **error);
void rh_compute_free(RhCompute *compute);
/* Starts a bundle of kernels; one at a time. */
void rh_compute_start(RhCompute *compute, int32_t bundle);
/* True when it is over; *t_end_s: when that was, on rh_clock_now_s. */
bool rh_compute_poll(RhCompute *compute, double *t_end_s);
