#pragma once
/* Seconds of collectives that tell their steps in short (RhAlgorithm.waves): for any number of bytes, after the
 * links that their edges cross were counted once. */
#include "sim/collective/collective.h"

typedef struct RhWaveTally RhWaveTally;

/* Counts for all groups of the pattern in this role, or of rank 0's where `role` is -1 (rh_schedule_time). NULL where the
 * algorithm does not tell them so. Where `bytes` are RH_LATENCY_BYTES or fewer latencies are all that is counted, and
 * it serves such calls alone; else all others. Keeps a pointer to the platform. */
RhWaveTally *rh_step_pattern_tally_new(RhOp op, RhAlgo algo, double bytes, const RhProgram *p,
                                       const RhPlatform *platform, int32_t group, int32_t role);
/* At the pace of any algorithm of the same steps (rh_collective_plain). */
RhScheduleTime rh_step_pattern_tally_time(const RhWaveTally *tally, RhAlgo algo, double bytes);
void rh_step_pattern_tally_free(RhWaveTally *tally);
