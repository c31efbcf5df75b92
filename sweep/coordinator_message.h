#pragma once
/* Messages between the process that knows which items are left and the ranks that ask it for them,
 * over sockets and whatever relays them. Plain C, for programs without GLib. */
#include <stdbool.h>
#include <stdint.h>

/* Environment variable with the number of the socket that leads to the coordinator or its ranks. */
#define RH_COORDINATOR_SOCKET "REHEARSE_COORDINATOR_SOCKET"

typedef enum {
    RH_MESSAGE_NONE,
    RH_MESSAGE_ROLE,  /* relay: rank of this process; item: ranks in all; rank 0 coordinates */
    RH_MESSAGE_ASK,   /* asker: give me an item; digest: of the study's keys */
    RH_MESSAGE_ITEM,  /* coordinator: do `item` */
    RH_MESSAGE_END,   /* coordinator: there is no more */
    RH_MESSAGE_ENDED, /* asker: `item` ended with `status` after `seconds` */
    RH_MESSAGE_ALIVE, /* relay: the asker is at work */
    RH_MESSAGE_GONE,  /* relay: the asker has left */
    RH_MESSAGE_OVER,  /* relay, to the others: the coordinator has left; is not passed on */
    RH_MESSAGE_BYTES, /* either: the answer of `item`, as bytes that follow; status: its error */
} RhCoordinatorMessageKind;

/* One size for all, so that a relay need not know them. */
typedef struct {
    int32_t kind, rank, item, status;
    double seconds;
    uint64_t digest;
    uint64_t length; /* of the bytes that follow the message; 0: none do */
} RhCoordinatorMessage;

/* A process as a rank of a job. */
typedef struct {
    int socket;            /* to the coordinator, or from it to all others; -1: there is none */
    int32_t number, count; /* of this rank, of which 0 coordinates; of all */
} RhJobRank;

/* Read and write one message; false: the other end is gone. */
bool rh_coordinator_message_read(int socket, RhCoordinatorMessage *message);
bool rh_coordinator_message_write(int socket, const RhCoordinatorMessage *message);
/* Read and write the bytes that follow one, message->length of them; false, as above. */
bool rh_coordinator_bytes_read(int socket, void *bytes, uint64_t length);
bool rh_coordinator_bytes_write(int socket, const void *bytes, uint64_t length);
