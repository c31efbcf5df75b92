#pragma once
/* A plan beside neighbours: what they cost its best, whether another layout wins beside them, and
 * which placement avoids them.
 *
 * The layouts are planned as if the job were alone: a neighbour only slows, so bounds stay
 * bounds. The best, and all whose step alone could still beat the best step beside, are then
 * rehearsed beside the neighbours at one place; the winner and the best alone at every place
 * that the fabric's switches tell apart (placements.h). */
#include "strategies/search/co_jobs/co_jobs.h"
#include "strategies/search/co_jobs/placements.h"
#include "strategies/search/plan.h"

typedef struct {
    const RhCoJob *others; /* settled and placed, on the case's platform */
    int32_t others_count;
    const RhBackgroundService *service; /* NULL: none */
    const RhJobPlacement *place;        /* NULL: the first free nodes */
    int32_t processes;                  /* at least 1 */
} RhCoJobQuestion;

/* One layout at one place. Of `met` the first job is ours, the others are as they were asked
 * for. */
typedef struct {
    const char *about; /* of the place; interned */
    int32_t *nodes;    /* owned */
    int32_t nodes_count;
    uint32_t entry; /* of the plan's entries */
    RhCoJobs *met;  /* owned */
} RhCoJobTrial;

typedef struct RhCoJobPlan {
    char **names;       /* of the others, the service behind them; owned, NULL-ended */
    GArray *layouts;    /* RhCoJobTrial at the first place, the quickest beside first */
    GArray *places;     /* RhCoJobTrial of the winner, and of the best alone, at the other places */
    bool proved;        /* no kind of layout left is quicker at the first place by the gap */
    bool elsewhere;     /* its links are not those of the first nodes, which bounds are of */
    bool all_taken;     /* the first place has all nodes that are free */
    int32_t tried;      /* layouts that were rehearsed beside them at the first place */
    int32_t alone_rank; /* of the winner, among these alone */
    double proof_bound_s; /* the least step of what was left out; INFINITY: nothing was */
} RhCoJobPlan;
void rh_co_job_plan_free(RhCoJobPlan *beside); /* NULL is fine */

/* Seconds of our step. */
double rh_co_job_alone_s(const RhCoJobTrial *trial);
double rh_co_job_step_s(const RhCoJobTrial *trial);
/* By which the step of job `job` of the trial (0: ours) grows; of a service (the last) the mean
 * time of its requests. Rounding of the clock is no cost. */
double rh_co_job_cost_frac(const RhCoJobTrial *trial, uint32_t job);
/* Returns, of the trials of the winner and of the layout that is best alone, the one with the
 * shortest step beside the other jobs; the first of equal ones. */
const RhCoJobTrial *rh_co_job_best_place(const RhCoJobPlan *beside);

/* rh_plan, and its `beside` filled in where anything fits. RH_ERROR_USAGE also where too few
 * nodes are left; RH_ERROR_NO_ANSWER where time runs out before the first was rehearsed beside. */
RhPlan *rh_plan_with_jobs(const RhProblem *c, const RhPlanOptions *options,
                          const RhCoJobQuestion *ask, GError **error) G_GNUC_WARN_UNUSED_RESULT;
