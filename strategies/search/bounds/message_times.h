#pragma once
/* Minimum cost of the messages of a folded program: for each stage, [2 stage + back], that of the
 * fastest colour to the next stage and to the one before. Private to this folder. */
#include "sim/engine/folded_network.h"
#include "sim/engine/symmetry_fold.h"
#include "strategies/search/bounds/bound_cache.h"

/* Distances in ranks to the neighbouring stages, [2 stage + back]; 0: no message. */
typedef struct {
    int32_t stages;
    const int32_t *distance;
} RhMessageTimes;

/* Returns the costs on the quotient network that the engine will simulate; the caller frees
 * them. */
RhLinkCost *rh_message_times_of_quotient(const RhMessageTimes *to, const RhTraffic *traffic,
                                         const RhFoldedNetwork *q);
/* Returns the costs for merged ranks without the loads of collectives: those of the representatives
 * of each stage, less what rounding of the quotient's weights may cost. The caller frees them. */
RhLinkCost *rh_message_times_of_merged(const RhMessageTimes *to, const RhTraffic *traffic,
                                       const RhFold *fold);
