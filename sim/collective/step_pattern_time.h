#pragma once
/* Times collectives with a compact form of their steps (RhAlgorithm.waves), in time proportional to
 * its edges instead of all flows: the links that the edges cross are counted once, and any number
 * of bytes is then timed from the tally. */
#include "sim/collective/collective.h"

typedef struct RhPatternTally RhPatternTally;

/* Counts links for all groups of the pattern in this role, or for rank 0's only where `role` is -1
 * (rh_schedule_time). NULL where the algorithm has no compact form. With bytes of at most
 * RH_LATENCY_BYTES only latencies are counted, and the tally serves such sizes only; otherwise all
 * others. Borrows the platform. */
RhPatternTally *rh_step_pattern_tally_new(const RhCollectiveSpec *spec, const RhProgram *p,
                                          const RhPlatform *platform, int32_t group, int32_t role);
/* Returns the time of `bytes` at the rate of any algorithm with the same steps
 * (rh_collective_plain). */
RhScheduleTime rh_step_pattern_tally_time(const RhPatternTally *tally, RhAlgo algo, double bytes);
void rh_step_pattern_tally_free(RhPatternTally *tally);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPatternTally, rh_step_pattern_tally_free)
