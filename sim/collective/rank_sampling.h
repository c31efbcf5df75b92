#pragma once
/* Long rows of ranks by few of them.
 *
 * A role is a box of ranks whose outermost span, say, repeats something E times, S ranks apart. Below
 * equal switches a tree of switches looks the same from P GPUs on, P the least common multiple of what
 * its switches hold. So with r the least number of repetitions for which r S is a multiple of P, what
 * repetition e + r sends is what repetition e does, moved to links alike. A link is below one switch of P
 * GPUs, or in one of its nodes, and carries only what repetitions send that begin or end there: a window
 * of D in a row. As long as E is 2 D + r + 2 or more, r repetitions taken out of the middle take
 * no window away that is not there again, and add none: the largest load of any link and the longest
 * route stay what they were. What goes round, a ring's last step, joins the two ends: as long as these
 * are below different switches it puts the same on the links there.
 *
 * So a group that stays inside a repetition, or inside so many of them, is timed with fewer of its like
 * beside it; and a ring over the whole row by a shorter ring that takes as many bytes a step. */
#include "sim/collective/step_pattern_time.h"

/* The group and the role alone, both group 0 and role 0, with fewer repetitions; NULL where nothing can
 * be left out. `ring`: its groups send from each member to the next alone, the last one's to the first,
 * in any order inside pairs of nodes. Caller frees. */
RhProgram *rh_sampled_ranks(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role, bool ring);

/* Seconds of a collective in all groups of the role at once, by steps for the one that holds the role's
 * first rank (role -1: in that of rank 0 alone): rh_schedule_time of rh_schedule_routed, but for the last bits of sums, and in a time that
 * depends on P and S and not on E where the row can be shortened. */
RhScheduleTime rh_collective_time(const RhProgram *p, const RhPlatform *platform, int32_t group,
                                  int32_t role, RhOp op, RhAlgo algo, double bytes,
                                  const RhRouting *routing);
/* The tally for rh_collective_time of an algorithm that tells its steps in short, for all bytes but RH_LATENCY_BYTES and fewer (step_pattern_time.h). */
RhWaveTally *rh_collective_tally_new(const RhProgram *p, const RhPlatform *platform, int32_t group,
                                     int32_t role, RhOp op, RhAlgo algo, double bytes);
