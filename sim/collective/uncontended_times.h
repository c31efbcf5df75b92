#pragma once
/* Cache of times of collectives on idle links: a search rehearses many layouts on one platform, and
 * small collectives of the whole job, such as a norm, take the same time in each. Thread-safe. */
#include "sim/collective/collective.h"

typedef struct RhUncontendedTimes RhUncontendedTimes;

/* Makes an empty table. Borrows the platform, which must not change meanwhile. */
RhUncontendedTimes *rh_uncontended_times_new(const RhPlatform *platform);
void rh_uncontended_times_free(RhUncontendedTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhUncontendedTimes, rh_uncontended_times_free)

/* Returns rh_collective_alone_s on the table's platform. GPUs are identified by a 64-bit hash of
 * their numbers. */
double rh_uncontended_time_s(RhUncontendedTimes *times, RhOp op, RhAlgo algo, int32_t members,
                             const int32_t *gpus, double bytes);
/* Appends the entries after the first `from` as bytes (NULL: skips this), and returns the number of
 * entries. */
int32_t rh_uncontended_times_give(RhUncontendedTimes *times, int32_t from, GByteArray *bytes);
/* Adds entries that rh_uncontended_times_give of another process wrote for the same platform. */
void rh_uncontended_times_take(RhUncontendedTimes *times, const void *bytes, size_t length);
