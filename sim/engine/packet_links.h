#pragma once
/* Links that serve packets, and the connections and messages that cross them. Knows bytes and
 * ranks; not what a message is for. Timer slots: x->transport_slot on. */
#include "sim/engine/exec_private.h"

typedef struct {
    double bytes;                 /* payload */
    int32_t sender, receiver;     /* actors */
    int32_t send_task, recv_task; /* local to their roles; -1: a collective's */
    int32_t call, from, to, step; /* of a collective: members */
    double t_post_s;              /* filled in */
} RhMessage;

RhPacketLinks *rh_packet_links_new(const RhExec *x);
void rh_packet_links_free(RhPacketLinks *wire); /* NULL is fine */
/* From rank src to rank dst; `launch_s` is added to its latency. */
void rh_packet_links_post(RhExec *x, RhMessage what, int32_t src, int32_t dst, double launch_s);
void rh_packet_links_due(RhExec *x, int32_t slot); /* slot 0 is the transport's first */
/* Seconds from the end of a kernel to the communication that waited for it: drawn, or 0. */
double rh_packet_links_reaction_s(const RhExec *x);
/* Messages of actors first .. end - 1 pass on, but nobody is told. */
void rh_packet_links_cancel(RhExec *x, int32_t actors_first, int32_t actors_end);
double rh_packet_links_link_bytes(const RhExec *x, int32_t job,
                                  RhLink link); /* payload and headers */
int64_t rh_packet_links_link_met(const RhExec *x, RhLink link);
void rh_packet_links_forget(RhExec *x);

/* Told by the wire (exec_messages.c): all of it is under way; the receiver has it. */
void rh_exec_message_sent(RhExec *x, const RhMessage *m);
void rh_exec_message_landed(RhExec *x, const RhMessage *m);
