#pragma once
/* Seconds of collectives that have the network to themselves, remembered: a search rehearses layout after
 * layout on one platform, and all that meets in the whole job, a norm of a few bytes, takes the same
 * time in each. Several threads may ask. */
#include "sim/collective/collective.h"

typedef struct RhUncontendedTimes RhUncontendedTimes;

/* Borrows the platform, which must not change meanwhile. */
RhUncontendedTimes *rh_uncontended_times_new(const RhPlatform *platform);
void rh_uncontended_times_free(RhUncontendedTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhUncontendedTimes, rh_uncontended_times_free)

/* rh_collective_alone_s on the table's platform. GPUs are known by a 64-bit hash of their numbers. */
double rh_uncontended_time_s(RhUncontendedTimes *times, RhOp op, RhAlgo algo, int32_t members,
                             const int32_t *gpus, double bytes);
/* What was worked out behind the first `from`, appended as bytes (NULL: not asked for); how many were so far. */
int32_t rh_uncontended_times_give(RhUncontendedTimes *times, int32_t from, GByteArray *bytes);
/* Taken over by another process's table of the same platform. */
void rh_uncontended_times_take(RhUncontendedTimes *times, const void *bytes, size_t length);
