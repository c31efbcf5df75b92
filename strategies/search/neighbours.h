#pragma once
/* A plan beside neighbours: what they cost its best, whether another layout wins beside them, and
 * which placement avoids them.
 *
 * The layouts are planned as if the job were alone: a neighbour only slows, so bounds stay bounds. The
 * best, and all whose step alone could still beat the best step beside, are then rehearsed beside the
 * neighbours at one place; the winner and the best alone at every place that the fabric's switches tell apart (places.h). */
#include "strategies/search/places.h"
#include "strategies/search/plan.h"
#include "strategies/search/together.h"

typedef struct {
    const RhNeighbour *others; /* settled and placed, on the case's platform */
    int32_t others_count;
    const RhServiceGuest *service; /* NULL: none */
    const RhPlace *place;          /* NULL: the first free nodes */
    int32_t processes;             /* at least 1 */
} RhBesideAsk;

/* One layout at one place. Of `met` the first job is ours, the others are as they were asked for. */
typedef struct {
    const char *about; /* of the place; interned */
    int32_t *nodes;    /* owned */
    int32_t nodes_count;
    uint32_t entry;       /* of the plan's entries */
    RhNeighbourhood *met; /* owned */
} RhBesideTrial;

typedef struct RhPlanBeside {
    char **names;    /* of the others, the service behind them; owned, NULL-ended */
    GArray *layouts; /* RhBesideTrial at the first place, the quickest beside first */
    GArray *places;  /* RhBesideTrial of the winner, and of the best alone, at the other places */
    bool proved;     /* no kind of layout left is quicker at the first place by the gap */
    bool elsewhere;  /* its links are not those of the first nodes, which bounds are of */
    bool all_taken;  /* the first place has all nodes that are free */
    int32_t tried;   /* layouts that were rehearsed beside them at the first place */
    int32_t alone_rank;   /* of the winner, among these alone */
    double proof_bound_s; /* the least step of what was left out; INFINITY: nothing was */
} RhPlanBeside;
void rh_plan_beside_free(RhPlanBeside *beside); /* NULL is fine */

/* Seconds of our step. */
double rh_beside_alone_s(const RhBesideTrial *trial);
double rh_beside_step_s(const RhBesideTrial *trial);
/* By which the step of job `job` of the trial (0: ours) grows; of a service (the last) the mean time of
 * its requests. Rounding of the clock is no cost. */
double rh_beside_cost_frac(const RhBesideTrial *trial, uint32_t job);
/* Of the winner and the best alone, at the place of the least step beside; of equal ones at the first. */
const RhBesideTrial *rh_beside_best_place(const RhPlanBeside *beside);

/* rh_plan, and its `beside` filled in where anything fits. RH_ERROR_USAGE also where too few nodes are
 * left; RH_ERROR_NO_ANSWER where time runs out before the first was rehearsed beside. */
RhPlan *rh_plan_beside(const RhCase *c, const RhPlanOptions *options, const RhBesideAsk *ask,
                       GError **error);
