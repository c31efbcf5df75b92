#pragma once
/* What the ranks of a server on several nodes put on the links between these.
 *
 * An iteration is told as RH_WIRE_PARTS like parts, each of them work of its ranks and then flows between GPUs of
 * different nodes: those of the steps of its collectives, as the algorithms have them that its time was reckoned by,
 * a part of an all-to-all having a part of its rounds. Alone on their links the flows take no longer than the
 * exchanges were reckoned to take, so that the parts sum to the iteration. What a collective moves inside nodes, and
 * latencies, are with the work. docs/theory/serving.md, "On one fabric with caches". */
#include "strategies/serve/iteration/iteration.h"

#define RH_WIRE_PARTS 8

typedef struct RhReplicaTraffic RhReplicaTraffic;

typedef struct {
    int32_t src, dst; /* GPUs of the platform, on different nodes */
    double bytes;
} RhReplicaFlow;

/* Of the server whose first rank is on this GPU; NULL: all of its ranks are on one node. Borrows the iterations. */
RhReplicaTraffic *rh_replica_traffic_new(RhIterations *it, int32_t first_gpu);
void rh_replica_traffic_free(RhReplicaTraffic *wires);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhReplicaTraffic, rh_replica_traffic_free)

/* RhReplicaFlow of zero bytes: every way that its flows take. Borrowed. */
const GArray *rh_replica_traffic_ways(const RhReplicaTraffic *wires);
/* Is this one of the links on these ways, and can it hold them up? */
bool rh_replica_traffic_cross(const RhReplicaTraffic *wires, RhLink link);
/* Is such a link on ways of both? Those between switches that carry all that the NICs below send are none. */
bool rh_replica_traffic_meet(const RhReplicaTraffic *a, const RhReplicaTraffic *b);
/* Seconds that each part's flows take, alone, in an iteration that lasts so long and goes through so many tokens, of
 * which `sequences` get a logit (of all its groups): appended flows of `part` are these times of its bytes. */
void rh_replica_traffic_alone(RhReplicaTraffic *wires, double iteration_s, int32_t tokens,
                              int32_t sequences, double alone_s[RH_WIRE_PARTS]);
/* Appends RhReplicaFlow: of that iteration's part. */
void rh_replica_traffic_list(RhReplicaTraffic *wires, double iteration_s, int32_t tokens,
                             int32_t sequences, int32_t part, GArray *flows);
