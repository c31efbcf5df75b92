#pragma once
/* Transfers over a platform's links, which flows share max-min fairly as in sim/engine. It serves
 * event-driven policies that need thousands of runs in one process, where SimGrid's engine can
 * exist only once. A test compares the two.
 *
 *     rh_transfers_start(transfers, t_s, src_gpu, dst_gpu, bytes, who);
 *     while ((t_s = rh_transfers_next_s(transfers)) < HUGE_VAL)
 *         who = rh_transfers_end(transfers);
 *
 * Times must not decrease. The caller adds latencies. */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct RhTransfers RhTransfers;

/* Makes an empty set of transfers; borrows the platform. */
RhTransfers *rh_transfers_new(const RhPlatform *platform);
void rh_transfers_free(RhTransfers *transfers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTransfers, rh_transfers_free)

/* Starts a transfer between two different GPUs; `who` is the caller's identifier. */
void rh_transfers_start(RhTransfers *transfers, double t_s, int32_t src, int32_t dst, double bytes,
                        int32_t who);
int32_t rh_transfers_count(const RhTransfers *transfers); /* in progress */
/* Returns when the next transfer ends if none starts before; HUGE_VAL when there is none. */
double rh_transfers_next_s(RhTransfers *transfers);
/* Removes the transfer that ends next and returns its `who`; there must be one. */
int32_t rh_transfers_end(RhTransfers *transfers);
