#pragma once
/* Topologies other than a node's switch and a tree of switches, with a file for each.
 *
 * A wiring numbers its directed links from 0. Inside a node they connect the ports of two GPUs,
 * outside the NICs of two nodes. It knows places and links; fabric_link_numbers.h numbers its links after
 * all others. */
#include "platforms/platform.h"

#define RH_WIRED_MAX 36 /* maximum number of links of a route */

struct RhWiring {
    const char *name; /* key in a platform's file, and prefix of its links' names */
    bool outside;     /* between nodes; else inside each */
    /* Returns the number of directed links: in one node, or between all nodes. */
    int32_t (*links)(const RhPlatform *p);
    /* Lists the links between two GPUs of a node, or between two nodes, in order; returns their
     * number, at most RH_WIRED_MAX. */
    int32_t (*route)(const RhPlatform *p, int32_t src, int32_t dst, int32_t *links);
    /* Returns how many times the root's hop latency counts between two nodes; inside a node that of
     * a step. NULL: once. */
    int32_t (*hops)(const RhPlatform *p, int32_t src, int32_t dst);
    /* Inside a node: returns whether bytes use the GPUs' host links instead of their ports. NULL:
     * never. */
    bool (*by_host)(const RhPlatform *p, int32_t src, int32_t dst);
    double (*bytes_per_s)(const RhPlatform *p, int32_t link);
    /* Returns a unique name, such as "node3/x+"; caller frees. */
    char *(*link_name)(const RhPlatform *p, int32_t link);
    /* Returns the link that may have this name; it may be wrong, so the caller compares names. */
    int64_t (*link_named)(const RhPlatform *p, const char *name);
};

extern const RhWiring rh_wiring_islands, rh_wiring_mesh, rh_wiring_torus, rh_wiring_dragonfly;

/* Numbers the links of a platform's mesh among the GPUs of a node, and finds the relays. */
void rh_mesh_settle(RhPlatform *p);
