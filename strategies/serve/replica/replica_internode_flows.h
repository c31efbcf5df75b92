#pragma once
/* Inter-node traffic of a server whose ranks are on several nodes.
 *
 * An iteration is divided into RH_TRAFFIC_PARTS equal parts, each of which is work of its ranks
 * followed by flows between GPUs of different nodes: those of the steps of its collectives,
 * under the algorithms by which the iteration was timed; a part of an all-to-all has a part of
 * its rounds. Without contention the flows take no longer than the timed exchanges, so that the
 * parts sum to the iteration. Transfers inside nodes and latencies count as work.
 * docs/theory/serving.md, "On one fabric with caches". */
#include "strategies/serve/iteration/iteration.h"

#define RH_TRAFFIC_PARTS 8

typedef struct RhReplicaTraffic RhReplicaTraffic;

typedef struct {
    int32_t src, dst; /* GPUs of the platform, on different nodes */
    double bytes;
} RhReplicaFlow;

/* Returns the traffic of the server whose first rank is on this GPU; NULL: all of its ranks are on
 * one node. Borrows the iterations; the caller frees it. */
RhReplicaTraffic *rh_replica_traffic_new(RhIterations *it, int32_t first_gpu);
void rh_replica_traffic_free(RhReplicaTraffic *traffic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhReplicaTraffic, rh_replica_traffic_free)

/* Returns all pairs of GPUs between which its flows go, as RhReplicaFlow of zero bytes.
 * Borrowed. */
const GArray *rh_replica_traffic_ways(const RhReplicaTraffic *traffic);
/* Is this link on a route of its flows, and can it be a bottleneck? */
bool rh_replica_traffic_cross(const RhReplicaTraffic *traffic, RhLink link);
/* Do two replicas share a link that can be a bottleneck (non-oversubscribed uplinks excluded)? */
bool rh_replica_traffic_meet(const RhReplicaTraffic *a, const RhReplicaTraffic *b);
/* Gets the seconds of each part's flows without contention, in an iteration of iteration_s seconds
 * and `tokens` tokens, with logits for `sequences` sequences (sums over attention groups). */
void rh_replica_traffic_alone(RhReplicaTraffic *traffic, double iteration_s, int32_t tokens,
                              int32_t sequences, double alone_s[RH_TRAFFIC_PARTS]);
/* Appends the flows (RhReplicaFlow) of a part of that iteration. */
void rh_replica_traffic_list(RhReplicaTraffic *traffic, double iteration_s, int32_t tokens,
                             int32_t sequences, int32_t part, GArray *flows);
