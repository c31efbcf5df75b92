#pragma once
/* A collective of one group, unfolded for its members: the steps of its schedule
 * (sim/collective/collective.h) and which flows of each round concern whom. GOAL export, the
 * message-level rehearsal and the MPI performer walk it alike, member by member:
 *
 *   while rh_expansion_next(): send my flows, await my flows
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

/* A member's place on its way: repetition `repeat` of round `round`, which is step `step` of the whole schedule, with
 * its flows e->flows[from] .. e->flows[to - 1]. */
typedef struct {
    int32_t round, repeat, step, from, to;
} RhExpansionPlace;

/* Before the first step of member `own`. */
RhExpansionPlace rh_expansion_begin(const RhExpansion *e, int32_t own);
/* To its next step: the next repetition, or the next round that has flows of its own. False at the end. */
bool rh_expansion_next(const RhExpansion *e, int32_t own, RhExpansionPlace *at);

static inline const RhRound *rh_expansion_round(const RhExpansion *e, int32_t k)
{
    return &g_array_index(e->schedule->rounds, RhRound, k);
}
static inline const RhFlow *rh_expansion_flow(const RhExpansion *e, int32_t i)
{
    return &g_array_index(e->schedule->flows, RhFlow, e->flows[i]);
}
