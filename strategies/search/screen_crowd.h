#pragma once
/* How much of a link a flow surely has, for screen_share.c and screen_sums.c: where blocks of ranks straddle
 * nodes, so that what one of them sends meets what its block exchanges. */
#include "strategies/search/screen.h"

#define RH_LANES_ALL      (RH_LANE_BIT(RH_LANE_LAST) - 1)
#define RH_LANES_OF_ITEMS (RH_LANE_BIT(RH_LANE_DP) - 1)

typedef struct {
    RhScreen *screen;
    const RhLayout *l;
    const RhNet *net;
    RhShardCost *shard;
    RhFlows *const *flows;
    int32_t *crowd; /* per link: flows at one time, at most; owned, NULL before rh_crowd_fill */
} RhCrowdedLinks;

/* Is anything claimed of such a layout? Not where ranks could be merged, where links change or are others', of
 * packets, of blocks that lie alike, of copies, nor of more than 512 GPUs, whose pairs are looked at. */
bool rh_crowd_is_claimed(RhScreen *screen, const RhLayout *layout, const RhNet *net);
/* Are parameters gathered at the step's beginning alone, and gradients summed behind the last micro-batch's
 * passes alone, by all replicas together? */
bool rh_crowd_is_calm(const RhLayout *layout, RhFlows *const *flows);
RhCrowdedLinks rh_crowd_new(RhScreen *screen, const RhLayout *layout, const RhNet *net,
                            RhShardCost *shard); /* the caller frees its crowd */
/* Counts flows of messages and of these lanes, a bit each. */
void rh_crowd_fill(RhCrowdedLinks *links, uint32_t lanes);
/* The part of the link, a half at most, that a flow over this route has at least, beside one that crosses
 * the link too; 0: it does not cross it. Where it has a half it is no slower than that one. */
double rh_crowd_least_part(const RhCrowdedLinks *links, const RhLink *route, int count,
                           RhLink link);
bool rh_crowd_crosses(const RhPlatform *platform, int32_t src_gpu, int32_t dst_gpu, RhLink link);
/* Bytes that the task's collective over these GPUs puts on the link, in seconds. NAN: none, or flows of one
 * round share the link with one another. */
double rh_crowd_on_link_s(const RhCrowdedLinks *links, const RhItemTask *task, const int32_t *gpus,
                          int32_t size, RhLink link);
/* Ranks from a stage to the next (the last wraps to 0), or to the one before. */
int32_t rh_crowd_delta(const RhCrowdedLinks *links, int32_t stage, bool back);
