#pragma once
/* Where on a fabric a job could stand beside others: the handful of placements that its switches tell
 * apart. Does not know what a placement costs; that is for a rehearsal to say. */
#include "platforms/platform.h"

typedef struct {
    const char *about; /* interned: "packed under the fewest leaf switches" */
    int32_t *nodes;    /* ascending; owned */
    int32_t count;
} RhJobPlacement;

/* Placements of `needed` nodes on those that are not `taken` (by node): at each tier with a way up (or
 * group of a dragonfly, or row of a torus) away from switches that taken nodes hang on, packed below the
 * fewest switches, and spread over all of them. Of those that have as many nodes of their own, beside as
 * many taken, below each switch as `first` or one before, none is listed: links tell them not apart.
 * `first` (borrowed) is listed first. RhJobPlacement, caller frees with g_array_unref; fewer than `needed` nodes
 * left are `first` alone. */
GArray *rh_placements(const RhPlatform *platform, int32_t needed, const bool *taken,
                      const RhJobPlacement *first);
/* The first of the nodes that are not taken; false: there are too few. Caller frees `out->nodes`. */
bool rh_placement_first(const RhPlatform *platform, int32_t needed, const bool *taken,
                        RhJobPlacement *out);
/* Are the job's links those of a job on the platform's first nodes? Then bounds of that one are its. */
bool rh_placement_like_first(const RhPlatform *platform, const RhJobPlacement *place);
