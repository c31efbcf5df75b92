#pragma once
/* Messages by which items are dealt out: between one process that knows what is left and many that
 * ask, over sockets and whatever relays them. Plain C, for programs without GLib. */
#include <stdbool.h>
#include <stdint.h>

/* Environment variable with the number of the socket over which a process deals or is dealt. */
#define RH_DEAL_SOCKET "REHEARSE_DEAL_SOCKET"

typedef enum {
    RH_DEAL_NONE,
    RH_DEAL_ROLE,  /* relay: rank of this process; item: ranks in all; rank 0 deals */
    RH_DEAL_ASK,   /* asker: give me an item; digest: of the study's keys */
    RH_DEAL_ITEM,  /* dealer: do `item` */
    RH_DEAL_END,   /* dealer: there is no more */
    RH_DEAL_ENDED, /* asker: `item` ended with `status` after `seconds` */
    RH_DEAL_ALIVE, /* relay: the asker is at work */
    RH_DEAL_GONE,  /* relay: the asker has left */
} RhDealKind;

/* One size for all, so that a relay need not know them. */
typedef struct {
    int32_t kind, rank, item, status;
    double seconds;
    uint64_t digest;
} RhDealMessage;

/* Read and write one message; false: the other end is gone. */
bool rh_deal_read(int socket, RhDealMessage *message);
bool rh_deal_write(int socket, const RhDealMessage *message);
