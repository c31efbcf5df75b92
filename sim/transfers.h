#pragma once
/* Bytes on their way over a platform's links, which flows share max-min fairly: as sim/engine has it from
 * SimGrid, for those who drive policies by events and ask for thousands of runs in one process (SimGrid's
 * engine lives once). A test holds the two to one another.
 *
 *     rh_transfers_start(transfers, t_s, src_gpu, dst_gpu, bytes, who);
 *     while ((t_s = rh_transfers_next_s(transfers)) < HUGE_VAL)
 *         who = rh_transfers_end(transfers);                      one that ends then
 *
 * Times must not go back. Latencies are the caller's. */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct RhTransfers RhTransfers;

/* Borrows the platform. */
RhTransfers *rh_transfers_new(const RhPlatform *platform);
void rh_transfers_free(RhTransfers *transfers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTransfers, rh_transfers_free)

/* From GPU to GPU, which are not the same. */
void rh_transfers_start(RhTransfers *transfers, double t_s, int32_t src, int32_t dst, double bytes,
                        int32_t who);
int32_t rh_transfers_count(const RhTransfers *transfers); /* under way */
/* When the next one ends if none starts before; HUGE_VAL: none is under way. */
double rh_transfers_next_s(RhTransfers *transfers);
/* Takes the one that ends next off its links, and tells whose it was; one must be there. */
int32_t rh_transfers_end(RhTransfers *transfers);
