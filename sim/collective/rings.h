#pragma once
/* Rings over GPUs that a mesh joins, as NCCL searches them (src/graph/search.cc): channels of one rate,
 * each a ring over all members in an order of its own, so many that no link carries more than it can.
 * Where a switch joins all GPUs any order is as good, and there is nothing to search.
 *
 * Over links of two members where there is such a ring, else by way of relays and the host too: NCCL's
 * search, too, widens the type of paths step by step. All rings of a direction and back: a link that carries one either way. Rates are those of whole links
 * (NCCL counts links, it does not measure them). */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct {
    int32_t members; /* of a ring: the group's, on several nodes those of a node */
    int32_t rings_count;
    int32_t *order;          /* rings_count x members: who stands at each place; owned */
    int32_t *channels;       /* of each ring, of equal rate; owned */
    double bytes_per_s;      /* that a member sends over all of them, in each step of a ring */
    double pair_bytes_per_s; /* between the two members that are joined worst */
} RhRings;

/* Of the GPUs of a group. NULL where no mesh joins them, or where they do not lie on nodes alike, the
 * same of each side by side: steps then go from member to member as they are numbered. Over several
 * nodes one ring, the order in which all rings walk through a node. */
RhRings *rh_rings_new(const RhPlatform *p, int32_t members, const int32_t *gpus);
void rh_rings_free(RhRings *rings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRings, rh_rings_free)
