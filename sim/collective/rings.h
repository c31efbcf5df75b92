#pragma once
/* Rings over GPUs that a mesh joins, searched as NCCL does (src/graph/search.cc): channels of equal
 * rate, each a ring over all members in its own order, as many as the links can carry. Where a
 * switch joins all GPUs every order is equal, and nothing is searched.
 *
 * The search first uses only direct links between members; if there is no such ring, it also uses
 * relays and the host, as NCCL widens its path types step by step. Rings run in both directions,
 * since links are full duplex. Rates are those of whole links (NCCL counts links and does not
 * measure them). */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct {
    int32_t members; /* members of a ring: the group's, or those of one node */
    int32_t rings_count;
    int32_t *order;          /* rings_count x members: the member at each place; owned */
    int32_t *channels;       /* channels of each ring, all of equal rate; owned */
    double bytes_per_s;      /* sent by a member over all rings, in each step */
    double pair_bytes_per_s; /* between the two worst connected members */
} RhRings;

/* Searches the rings of a group's GPUs. NULL where no mesh joins them, or where nodes do not hold
 * the same GPUs consecutively: steps then follow the member order. Over several nodes it returns
 * one ring, the order in which all rings pass through a node. */
RhRings *rh_rings_new(const RhPlatform *p, int32_t members, const int32_t *gpus);
void rh_rings_free(RhRings *rings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRings, rh_rings_free)
