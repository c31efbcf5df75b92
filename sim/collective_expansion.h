#pragma once
/* Expands a collective of one group into the flows of each member: the steps of its schedule
 * (sim/collective/collective.h) and the flows of every round that a member sends or receives. GOAL
 * export, the packet-level rehearsal and the MPI performer walk it in the same way, member by
 * member:
 *
 *     while rh_expansion_next(): send my flows, await my flows
 *
 * A member enters a step when its own flows of the step before have arrived; nothing else
 * synchronises the members. */
#include "sim/collective/collective.h"

typedef struct {
    RhSchedule *schedule; /* owned */
    int32_t *members;     /* owned; ranks, in member order */
    int32_t *first;       /* owned; members + 1 */
    /* owned; flows[first[m]] .. flows[first[m + 1] - 1] involve m, ascending */
    int32_t *flows;
} RhExpansion;

/* Expansions of one program on one platform, each made at its first use. */
typedef struct RhExpansions RhExpansions;
RhExpansions *rh_expansions_new(const RhProgram *p, const RhPlatform *platform);
void rh_expansions_free(RhExpansions *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhExpansions, rh_expansions_free)

/* Returns the expansion of a COLLECTIVE task for the group of `rank`, borrowed from `all`; *own is
 * the rank's place among the members. RH_ERROR_INPUT as rh_schedule_new. */
const RhExpansion *rh_expansion_get(RhExpansions *all, const RhTask *task, int32_t rank,
                                    int32_t *own, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A member's position in an expansion: repetition `repeat` of round `round`, which is step `step`
 * of the whole schedule, with its flows e->flows[from] .. e->flows[to - 1]. */
typedef struct {
    int32_t round, repeat, step, from, to;
} RhExpansionPlace;

/* Returns the position before the first step of member `own`. */
RhExpansionPlace rh_expansion_begin(const RhExpansion *e, int32_t own);
/* Advances to the member's next step: the next repetition, or the next round in which it has flows.
 * Returns false at the end. */
bool rh_expansion_next(const RhExpansion *e, int32_t own, RhExpansionPlace *at);

static inline const RhRound *rh_expansion_round(const RhExpansion *e, int32_t k)
{
    return &g_array_index(e->schedule->rounds, RhRound, k);
}
static inline const RhFlow *rh_expansion_flow(const RhExpansion *e, int32_t i)
{
    return &g_array_index(e->schedule->flows, RhFlow, e->flows[i]);
}
