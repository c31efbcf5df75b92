#pragma once
/* Minimum share of a link that a flow gets, if blocks of ranks straddle nodes, so that messages of
 * a rank compete with collectives of its block. Used by p2p_interference.c and
 * gradient_interference.c. */
#include "strategies/search/bounds/bound_cache.h"

#define RH_LANES_ALL      (RH_LANE_BIT(RH_LANE_LAST) - 1)
#define RH_LANES_OF_ITEMS (RH_LANE_BIT(RH_LANE_DP) - 1)

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhGroupNetwork *net;
    RhShardCost *shard;
    RhCommSteps *const *flows;
    /* Maximum number of simultaneous flows per link; owned, NULL before rh_contention_fill. */
    int32_t *flows_at_once;
} RhContention;

/* Is there a bound for such a layout? Not if ranks could be merged, the fabric or the node is no
 * plain tree (meshes, other wirings), messages are packets, all blocks are placed alike, steps copy
 * between memory tiers, or the job has more than 512 GPUs, since pairs of GPUs are examined. */
bool rh_contention_is_claimed(RhBoundCache *cache, const RhLayout *layout,
                              const RhGroupNetwork *net);
/* Are parameters gathered at the step's beginning alone, and gradients summed behind the last
 * micro-batch's passes alone, by all replicas together? */
bool rh_contention_is_calm(const RhLayout *layout, RhCommSteps *const *flows);
/* Returns the contention of a layout; the caller frees its flows_at_once. */
RhContention rh_contention_new(RhBoundCache *cache, const RhLayout *layout,
                               const RhGroupNetwork *net, RhShardCost *shard);
/* Counts the flows of messages and of `lanes`, bits of RhLane, into flows_at_once. */
void rh_contention_fill(RhContention *links, uint32_t lanes);
/* Returns the minimum share of the link, at most 1/2, that a flow over this route gets beside
 * another flow on the link; 0: the route does not cross the link. With 1/2 it is no slower than the
 * other flow. */
double rh_contention_least_part(const RhContention *links, const RhLink *route, int count,
                                RhLink link);
bool rh_contention_crosses(const RhPlatform *platform, int32_t src_gpu, int32_t dst_gpu,
                           RhLink link);
/* Returns the seconds that the bytes of the task's collective over these GPUs take on the link;
 * NAN: no bytes, or several flows of one round share the link. */
double rh_contention_on_link_s(const RhContention *links, const RhLayerOp *task,
                               const int32_t *gpus, int32_t size, RhLink link);
/* Returns the difference of ranks between a stage and the next (the last wraps to 0), or with
 * `back` the one before. */
int32_t rh_contention_delta(const RhContention *links, int32_t stage, bool back);
