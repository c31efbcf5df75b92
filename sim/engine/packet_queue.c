#include "sim/engine/packet_queue.h"

#include <glib.h>

void rh_packets_put(RhPackets *q, int32_t message, int32_t packets)
{
    if (q->count > 0) {
        RhPacketBatch *last = &q->batches[(q->head + q->count - 1) % q->room];
        if (last->message == message) {
            last->packets += packets;
            return;
        }
    }
    if (q->count == q->room) {
        int32_t room = q->room ? 2 * q->room : 4;
        RhPacketBatch *grown = g_new(RhPacketBatch, room);
        for (int32_t i = 0; i < q->count; i++)
            grown[i] = q->batches[(q->head + i) % q->room];
        g_free(q->batches);
        *q = (RhPackets){grown, 0, q->count, room};
    }
    q->batches[(q->head + q->count++) % q->room] = (RhPacketBatch){message, packets};
}

int32_t rh_packets_take(RhPackets *q)
{
    RhPacketBatch *first = &q->batches[q->head];
    int32_t message = first->message;
    if (--first->packets == 0) {
        q->head = (q->head + 1) % q->room;
        q->count--;
    }
    return message;
}
