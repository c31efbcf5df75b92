#pragma once
/* Replaces long rows of ranks by short ones that load links in the same way.
 *
 * A role is a box of ranks whose outermost span, say, repeats a pattern E times, S ranks apart.
 * Below equal switches a tree of switches looks the same every P GPUs, where P is the least common
 * multiple of the GPUs below its switches. Let r be the smallest number of repetitions for which r
 * S is a multiple of P: repetition e + r then sends what repetition e does, over equivalent links.
 * A link lies below one switch of P GPUs, or in one of its nodes, and carries only what repetitions
 * send that begin or end there: a window of D consecutive ones. As long as E is at least 2 D + r +
 * 2, removing r repetitions from the middle removes no kind of window entirely and adds none, so
 * the largest load of any link and the longest route do not change. The wrap-around of a ring joins
 * the two ends: as long as these are below different switches it puts the same load on the links
 * there.
 *
 * Thus a group within one repetition, or within a few, is timed with fewer equivalent groups beside
 * it, and a ring over the whole row by a shorter ring with the same bytes per step. */
#include "sim/collective/step_pattern_time.h"

/* Returns a program of the group and the role only, both with index 0, with fewer repetitions; NULL
 * where nothing can be left out. `ring`: every member sends only to the next one, the last to the
 * first, in any order inside pairs of nodes. Caller frees. */
RhProgram *rh_sampled_ranks(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role, bool ring);

/* Computes the time of a collective that all groups of the role perform at once, by the steps of
 * the group with the role's first rank (role -1: only the group of rank 0). It equals
 * rh_schedule_time of the schedule up to rounding, and takes time that does not depend on E where
 * the row can be shortened. */
RhScheduleTime rh_collective_time(const RhProgram *p, const RhPlatform *platform, int32_t group,
                                  int32_t role, const RhCollectiveSpec *spec);
/* Makes the tally for rh_collective_time of an algorithm with a compact form. It is valid for all
 * sizes above RH_LATENCY_BYTES if the spec's are, else for the sizes up to it (step_pattern_time.h).
 */
RhPatternTally *rh_collective_tally_new(const RhProgram *p, const RhPlatform *platform,
                                        int32_t group, int32_t role, const RhCollectiveSpec *spec);
