#pragma once
/* Links that are neither a node's switch nor a tree of switches: a file for each kind.
 *
 * A wiring numbers its directed links from 0. Inside a node its links lie between the ports of two
 * GPUs, outside between the NICs of two nodes. Knows places and links; fabric_links.h gives the links their
 * numbers behind all others. */
#include "platforms/platform.h"

#define RH_WIRED_MAX 36 /* links of a route */

struct RhWiring {
    const char *name; /* the key in a platform's file, and how its links' names begin */
    bool outside;     /* between nodes; else inside each */
    /* Directed links: of one node, or between all nodes. */
    int32_t (*links)(const RhPlatform *p);
    /* Between two GPUs of a node, or two nodes: the links crossed, in order; returns how many, at
     * most RH_WIRED_MAX. */
    int32_t (*route)(const RhPlatform *p, int32_t src, int32_t dst, int32_t *links);
    /* How often the root's hop latency counts between two nodes; inside, that of a step, NULL: once. */
    int32_t (*hops)(const RhPlatform *p, int32_t src, int32_t dst);
    /* Inside: do bytes leave and enter by the GPUs' links to the host, and not by their ports? NULL:
     * never. */
    bool (*by_host)(const RhPlatform *p, int32_t src, int32_t dst);
    double (*bytes_per_s)(const RhPlatform *p, int32_t link);
    /* "node3/x+", unique; caller frees. */
    char *(*link_name)(const RhPlatform *p, int32_t link);
    /* The link that may have this name, or any number: the caller looks at its name. */
    int64_t (*link_named)(const RhPlatform *p, const char *name);
};

extern const RhWiring rh_wiring_islands, rh_wiring_mesh, rh_wiring_torus, rh_wiring_dragonfly;

/* Numbers the links of a platform's mesh among the GPUs that a node has, and finds who relays. */
void rh_mesh_settle(RhPlatform *p);
