#pragma once
/* Links that serve packets, with the connections and messages that cross them. This file knows
 * bytes and ranks, and not the purpose of a message. Timer slots: from x->transport_slot on. */
#include "sim/engine/exec/exec_private.h"

typedef struct {
    double bytes;                 /* payload */
    int32_t sender, receiver;     /* actors */
    int32_t send_task, recv_task; /* local to their roles; -1: part of a collective */
    int32_t call, from, to, step; /* collectives: members */
    double t_post_s;              /* filled in */
} RhMessage;

/* Callbacks for messages: `sent` when all packets of one have left, `landed` when the receiver has them all. */
typedef struct {
    void (*sent)(RhExec *x, const RhMessage *m);
    void (*landed)(RhExec *x, const RhMessage *m);
} RhMessageEvents;

RhPacketLinks *rh_packet_links_new(const RhExec *x, RhMessageEvents events);
void rh_packet_links_free(RhPacketLinks *packets); /* NULL is fine */
/* Sends a message from rank src to rank dst; `launch_s` is added to its latency. */
void rh_packet_links_post(RhExec *x, RhMessage what, int32_t src, int32_t dst, double launch_s);
void rh_packet_links_due(RhExec *x, int32_t slot); /* slot 0 is the transport's first */
/* Returns the seconds from the end of a kernel to communication that waited for it: drawn at
 * random, or 0. */
double rh_packet_links_reaction_s(const RhExec *x);
/* Cancels messages of actors first .. end - 1: their packets travel on, but no event is reported.
 */
void rh_packet_links_cancel(RhExec *x, int32_t actors_first, int32_t actors_end);
double rh_packet_links_link_bytes(const RhExec *x, int32_t job,
                                  RhLink link); /* payload and headers */
int64_t rh_packet_links_link_met(const RhExec *x, RhLink link);
void rh_packet_links_forget(RhExec *x);
