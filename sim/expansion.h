#pragma once
/* A collective of one group, unfolded for its members: the steps of its schedule
 * (sim/collective/collective.h) and which flows of each phase concern whom. GOAL export, the
 * message-level rehearsal and the MPI performer walk it alike, member by member:
 *
 *   for each phase k, repetition q: send my flows, await my flows, go on
 *
 * A member enters a step when its own flows of the step before have arrived; nothing else joins the
 * members. */
#include "sim/collective/collective.h"

typedef struct {
    RhSchedule *schedule; /* owned */
    int32_t *members;     /* owned; ranks, in member order */
    int32_t *first;       /* owned; members + 1 */
    int32_t *flows;       /* owned; flows[first[m]] .. flows[first[m + 1] - 1] concern m, rising */
} RhExpansion;

/* Expansions of one program on one platform, each made when first asked for. */
typedef struct RhExpansions RhExpansions;
RhExpansions *rh_expansions_new(const RhProgram *p, const RhPlatform *platform);
void rh_expansions_free(RhExpansions *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhExpansions, rh_expansions_free)

/* Of a COLLECTIVE task in the group of `rank`; *own is the rank's place among the members. Borrowed
 * from `all`. RH_ERROR_INPUT as rh_schedule_new. */
const RhExpansion *rh_expansion_get(RhExpansions *all, const RhTask *task, int32_t rank,
                                    int32_t *own, GError **error);

/* Member `own`'s flows of phase k: e->flows[*from] .. e->flows[*to - 1]. Ask for k = 0, 1, ... in
 * turn, *to at e->first[own] before the first. */
void rh_expansion_phase(const RhExpansion *e, int32_t own, int32_t k, int32_t *from, int32_t *to);

static inline const RhStepPhase *rh_expansion_step_phase(const RhExpansion *e, int32_t k)
{
    return &g_array_index(e->schedule->phases, RhStepPhase, k);
}
static inline const RhFlow *rh_expansion_flow(const RhExpansion *e, int32_t i)
{
    return &g_array_index(e->schedule->flows, RhFlow, e->flows[i]);
}
