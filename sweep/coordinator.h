#pragma once
/* Hands items to ranks that ask for them, over one socket with messages of all ranks
 * (coordinator_message.h).
 *
 * Whoever is done asks for more, so uneven costs even out. A rank that has left, or has not been
 * heard of for half a minute, loses its item alone, which another takes. */
#include "sweep/coordinator_message.h"
#include "sweep/item_workers.h"

typedef struct {
    int socket;
    int32_t ranks;   /* of which the first is the coordinator */
    uint64_t digest; /* of the study's keys; a rank that has others is sent home */
} RhCoordinator;

/* Runs as rh_item_pool_run does, of which it uses next(), ended(), waiting() and stopped(). Fails with
 * RH_ERROR_REFUSED when all ranks have left while items remain. */
bool rh_coordinator_run(const RhCoordinator *coordinator, const RhItemPool *what,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
