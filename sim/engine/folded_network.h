#pragma once
/* The folded platform: few links, few classes of flows, and how often each class crosses each
 * link.
 *
 * A quotient link stands for all links of one colour. Flows of one class (same colour) move alike;
 * on every link of the colour there are `weight` of them, so that a class at rate r takes weight *
 * r of the link. Weights and capacity are divided by their common divisor, since SimGrid takes
 * whole weights only. */
#include <glib.h>
#include <stdint.h>

#include "sim/engine/fold.h"
#include "sim/engine/simgrid_bridge.h"
#include "sim/engine/traffic.h"

#define RH_WEIGHT_MAX 512 /* weights above are rounded, and the run is approximate */

typedef struct {
    int32_t pattern, owner; /* owner: a meeting, or a colour when messages */
    int32_t hops_first, hops_count;
    double share;
    double latency_s;
    double bytes_per_s; /* with nothing else on its links */
    double flows_count; /* over all ranks */
} RhFlowClass;

typedef struct {
    RhLink link;        /* one of those it stands for */
    double bytes_per_s; /* over the common divisor of the weights */
    double divisor;     /* weight * divisor flows cross a real link */
} RhFoldedLink;

/* A colour of instances of a group: starts when all its members' colours have arrived. */
typedef struct {
    int32_t group, shape;
    int32_t colours_first, colours_count; /* distinct colours */
    bool joins_roles;                     /* not all of one role */
} RhCollectiveCall;

typedef struct {
    GArray *classes; /* RhFlowClass, sorted by pattern, then owner */
    GArray *hops;    /* RhBridgeHop into links */
    GArray *links;   /* RhFoldedLink */
    int32_t owners_count;
    int32_t *classes_first; /* [pattern * owners + owner], one more at the end */
    GArray *meetings;       /* RhCollectiveCall */
    GArray *colours;        /* int32_t */
    int32_t *meeting_of;    /* [colour * groups + group]; -1 where none */
    bool weights_rounded;
} RhFoldedNetwork;

RhFoldedNetwork *rh_folded_network_new(const RhTraffic *traffic, const RhFold *fold);
void rh_folded_network_free(RhFoldedNetwork *quotient);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFoldedNetwork, rh_folded_network_free)
