#pragma once
/* A rank's end of a coordinator (coordinator.h): the two calls of an item pool that ask for items and tell how they ended. */
#include "sweep/coordinator_message.h"
#include "sweep/item_workers.h"

typedef struct {
    int socket;
    uint64_t digest; /* of the study's keys */
    int32_t items;   /* of the study; an item beyond is refused */
    bool asking;     /* an item was asked for, and has not come */
} RhItemClient;

/* Asks for an item, or reads the answer to that; as RhItemPool.next() says, with more_fd the socket. */
RhNextItemStatus rh_item_client_next(RhItemClient *client, int32_t *item);
/* Tells how an item ended; false: the coordinator is gone. */
bool rh_item_client_tell(const RhItemClient *client, int32_t item, const RhItemOutcome *end);
