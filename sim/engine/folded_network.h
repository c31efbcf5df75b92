#pragma once
/* The folded platform: quotient links, classes of flows, and how often each class crosses each
 * link.
 *
 * A quotient link represents all links of one colour. Flows of one class (equal colour) move alike;
 * every link of the colour carries `weight` of them, so a class at rate r uses weight * r of the
 * link. Weights and capacity are divided by their common divisor, because SimGrid takes only whole
 * weights. */
#include <glib.h>
#include <stdint.h>

#include "sim/engine/program_flows.h"
#include "sim/engine/simgrid_bridge.h"
#include "sim/engine/symmetry_fold.h"

#define RH_WEIGHT_MAX 512 /* larger weights are rounded, and the run is approximate */

typedef struct {
    int32_t pattern, owner; /* owner: a collective call, or a colour for messages */
    int32_t hops_first, hops_count;
    double share;
    double latency_s;
    double bytes_per_s; /* on idle links */
    double flows_count; /* number of flows over all ranks */
} RhFlowClass;

typedef struct {
    RhLink link;        /* one of the links that it represents */
    double bytes_per_s; /* capacity over the common divisor of the weights */
    double divisor;     /* weight * divisor flows cross a real link */
} RhFoldedLink;

/* A colour of instances of a group; a collective starts when all its members' colours have arrived.
 */
typedef struct {
    int32_t group, shape;
    int32_t colours_first, colours_count; /* distinct colours */
    bool joins_roles;                     /* members have several roles */
} RhCollectiveCall;

typedef struct {
    GArray *classes; /* RhFlowClass, sorted by pattern, then owner */
    GArray *hops;    /* RhBridgeHop into links */
    GArray *links;   /* RhFoldedLink */
    int32_t owners_count;
    int32_t *classes_first; /* [pattern * owners + owner], one more at the end */
    GArray *calls;          /* RhCollectiveCall */
    GArray *colours;        /* int32_t */
    int32_t *call_of;       /* [colour * groups + group]; -1 where none */
    bool weights_rounded;
} RhFoldedNetwork;

RhFoldedNetwork *rh_folded_network_new(const RhTraffic *traffic, const RhFold *fold);
void rh_folded_network_free(RhFoldedNetwork *quotient);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFoldedNetwork, rh_folded_network_free)
