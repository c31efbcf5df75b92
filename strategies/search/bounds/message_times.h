#pragma once
/* What messages of a folded program take, at least: a hop of each stage to the next and to the one before,
 * [2 stage + back], the luckiest's of those that are told apart. Private to this folder. */
#include "sim/engine/fold.h"
#include "sim/engine/folded_network.h"
#include "strategies/search/bounds/bound_cache.h"

/* Per stage the distances to its neighbours, likewise; 0 where it has no message for one. */
typedef struct {
    int32_t stages;
    const int32_t *distance;
} RhMessageTimes;

/* As the engine will perform them. The caller frees. */
RhLinkCost *rh_message_times_of_quotient(const RhMessageTimes *to, const RhTraffic *traffic,
                                         const RhFoldedNetwork *q);
/* Of merged ranks, before anything is asked of collectives: those of the ranks that stand for their stages, less
 * what the rounding of a quotient's weights may take. The caller frees. */
RhLinkCost *rh_message_times_of_merged(const RhMessageTimes *to, const RhTraffic *traffic,
                                       const RhFold *fold);
