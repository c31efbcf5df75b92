#pragma once
/* Packets that wait for a link, first in, first out. Those of one message that stand one behind the
 * other are one batch, so that a long message costs no more than a short one. Starts all zero; free
 * `batches` in the end. */
#include <stdint.h>

typedef struct {
    int32_t message, packets;
} RhPacketBatch;

typedef struct {
    RhPacketBatch *batches; /* a ring; owned */
    int32_t head, count, room;
} RhPackets;

void rh_packets_put(RhPackets *queue, int32_t message, int32_t packets);
/* The message whose packet was first; there must be one. */
int32_t rh_packets_take(RhPackets *queue);
