#pragma once
/* How much of a link a flow surely has, for p2p_interference.c and gradient_interference.c: where blocks of ranks straddle
 * nodes, so that what one of them sends meets what its block exchanges. */
#include "strategies/search/bounds/bound_cache.h"

#define RH_LANES_ALL      (RH_LANE_BIT(RH_LANE_LAST) - 1)
#define RH_LANES_OF_ITEMS (RH_LANE_BIT(RH_LANE_DP) - 1)

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhGroupNetwork *net;
    RhShardCost *shard;
    RhCommSteps *const *flows;
    int32_t *
        flows_at_once; /* per link: flows at one time, at most; owned, NULL before rh_contention_fill */
} RhContention;

/* Is anything claimed of such a layout? Not where ranks could be merged, where links change or are others', of
 * packets, of blocks that lie alike, of copies, nor of more than 512 GPUs, whose pairs are looked at. */
bool rh_contention_is_claimed(RhBoundCache *cache, const RhLayout *layout,
                              const RhGroupNetwork *net);
/* Are parameters gathered at the step's beginning alone, and gradients summed behind the last micro-batch's
 * passes alone, by all replicas together? */
bool rh_contention_is_calm(const RhLayout *layout, RhCommSteps *const *flows);
RhContention rh_contention_new(RhBoundCache *cache, const RhLayout *layout,
                               const RhGroupNetwork *net,
                               RhShardCost *shard); /* the caller frees its flows at once */
/* Counts flows of messages and of these lanes, a bit each. */
void rh_contention_fill(RhContention *links, uint32_t lanes);
/* The part of the link, a half at most, that a flow over this route has at least, beside one that crosses
 * the link too; 0: it does not cross it. Where it has a half it is no slower than that one. */
double rh_contention_least_part(const RhContention *links, const RhLink *route, int count,
                                RhLink link);
bool rh_contention_crosses(const RhPlatform *platform, int32_t src_gpu, int32_t dst_gpu,
                           RhLink link);
/* Bytes that the task's collective over these GPUs puts on the link, in seconds. NAN: none, or flows of one
 * round share the link with one another. */
double rh_contention_on_link_s(const RhContention *links, const RhLayerOp *task,
                               const int32_t *gpus, int32_t size, RhLink link);
/* Ranks from a stage to the next (the last wraps to 0), or to the one before. */
int32_t rh_contention_delta(const RhContention *links, int32_t stage, bool back);
