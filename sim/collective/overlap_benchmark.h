#pragma once
/* A collective that runs beside computing, as the OSU micro-benchmarks count it (osu_iallreduce and the like, 7.5): it
 * is posted, as much is computed as it takes alone, and it is waited for. Overlap is 1 less what both take beyond the
 * computing over what it takes alone; never below 0.
 *
 * Kernels of a GPU library go on by themselves, and hold SMs until they end, which computing then lacks. An MPI
 * library goes on when it is called: a step begins when the step before has ended and the library is called next, by
 * one of `tests` calls of MPI_Test, evenly over the computing, or by the wait behind it. What switches sum is one
 * step. */
#include "sim/collective/collective.h"

typedef struct {
    double compute_s, overall_s;
    double overlap_frac;
} RhComputeOverlap;

RhComputeOverlap rh_collective_overlap(const RhCollectiveSpec *call, int32_t members,
                                       const int32_t *gpus, int32_t tests,
                                       const RhPlatform *platform);
