#pragma once
/* The groups of a kind in one stage. Many layouts have the same ones: what their collectives take is found once. */
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    int32_t id;
    bool intervals_alike; /* rh_bound_stage_groups */
    GArray *apart;        /* rh_bound_groups_apart; NULL: not asked for yet */
} RhStageGroups;

void rh_stage_groups_free(void *set);
/* The bound cache's. `intervals_alike`: the ranks that its groups take in, from the first place on and so on, meet links
 * like one another's. Those of one such interval of places begin together; those of another may not where they lie
 * otherwise. */
RhStageGroups *rh_bound_stage_groups(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                                     RhGroupKind kind);
/* A rank of each of its groups (int32_t), but for those that lie as another does, moved over the fabric: alone
 * on the links they take as long. */
const GArray *rh_bound_groups_apart(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                                    RhGroupKind kind);
