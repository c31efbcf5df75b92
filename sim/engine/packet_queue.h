#pragma once
/* Queue of packets that wait for a link, first in, first out. Consecutive packets of one message
 * are one batch, so a long message costs no more than a short one. Initialise with zeros; free
 * `batches` at the end. */
#include <stdint.h>

typedef struct {
    int32_t message, packets;
} RhPacketBatch;

typedef struct {
    RhPacketBatch *batches; /* a ring; owned */
    int32_t head, count, room;
} RhPackets;

void rh_packets_put(RhPackets *queue, int32_t message, int32_t packets);
/* Removes the first packet and returns its message; the queue must not be empty. */
int32_t rh_packets_take(RhPackets *queue);
