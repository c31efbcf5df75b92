#pragma once
/* Groups of one kind in a stage, shared by all layouts that have the same ones, so that the times
 * of their collectives are computed once. */
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    int32_t id;
    bool intervals_alike; /* rh_bound_stage_groups */
    GArray *apart;        /* rh_bound_groups_apart; NULL: not computed yet */
} RhStageGroups;

/* Appends the spans; those that go on where one ends are told as one. `periods` may be NULL: 0s. */
void rh_stage_groups_add_spans(GString *key, const RhStride *spans, const int32_t *periods,
                               int32_t count);
void rh_stage_groups_free(void *set);
/* Returns the groups of a kind, owned by the bound cache. `intervals_alike`: each interval of
 * places that is a union of groups sees equal links. Groups of one interval begin together; those
 * of different intervals may not if their links differ. */
RhStageGroups *rh_bound_stage_groups(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                                     RhGroupKind kind);
/* Returns one rank (int32_t) of each group that differs in placement from the groups before. Groups
 * that are translates of each other on the fabric take equally long without contention. */
const GArray *rh_bound_groups_apart(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                                    RhGroupKind kind);
