#pragma once
/* A plan beside neighbours: what they cost its best, whether another layout wins beside them, and
 * which placement avoids them.
 *
 * The layouts are planned as if the job were alone: a neighbour only slows, so bounds stay
 * bounds. The best, and all whose step alone could still beat the best step beside, are then
 * rehearsed beside the neighbours at one place; the winner and the best alone at every place
 * that the fabric's switches tell apart (placements.h). */
#include "strategies/search/colocation/colocated_jobs.h"
#include "strategies/search/colocation/job_placements.h"
#include "strategies/search/plan.h"

typedef struct {
    const RhColocatedJob *others; /* settled and placed, on the case's platform */
    int32_t others_count;
    const RhBackgroundService *service; /* NULL: none */
    const RhJobPlacement *place;        /* NULL: the first free nodes */
    int32_t processes;                  /* at least 1 */
} RhColocatedJobQuestion;

/* One layout at one place. Of `met` the first job is ours, the others are as they were asked
 * for. */
typedef struct {
    const char *about; /* of the place; interned */
    int32_t *nodes;    /* owned */
    int32_t nodes_count;
    uint32_t entry;       /* of the plan's entries */
    RhColocatedJobs *met; /* owned */
} RhColocatedJobTrial;

typedef struct RhColocatedJobPlan {
    char **names;    /* of the others, the service behind them; owned, NULL-ended */
    GArray *layouts; /* RhColocatedJobTrial at the first place, the quickest beside first */
    GArray
        *places; /* RhColocatedJobTrial of the winner, and of the best alone, at the other places */
    bool proved; /* no kind of layout left is quicker at the first place by the gap */
    bool elsewhere;       /* its links are not those of the first nodes, which bounds are of */
    bool all_taken;       /* the first place has all nodes that are free */
    int32_t tried;        /* layouts that were rehearsed beside them at the first place */
    int32_t alone_rank;   /* of the winner, among these alone */
    double proof_bound_s; /* the least step of what was left out; INFINITY: nothing was */
} RhColocatedJobPlan;
void rh_colocated_job_plan_free(RhColocatedJobPlan *beside); /* NULL is fine */

/* Seconds of our step. */
double rh_colocated_job_alone_s(const RhColocatedJobTrial *trial);
double rh_colocated_job_step_s(const RhColocatedJobTrial *trial);
/* By which the step of job `job` of the trial (0: ours) grows; of a service (the last) the mean
 * time of its requests. Rounding of the clock is no cost. */
double rh_colocated_job_cost_frac(const RhColocatedJobTrial *trial, uint32_t job);
/* Returns, of the trials of the winner and of the layout that is best alone, the one with the
 * shortest step beside the other jobs; the first of equal ones. */
const RhColocatedJobTrial *rh_colocated_job_best_place(const RhColocatedJobPlan *beside);

/* rh_plan, and its `beside` filled in where anything fits. RH_ERROR_USAGE also where too few
 * nodes are left; RH_ERROR_NO_ANSWER where time runs out before the first was rehearsed beside. */
RhPlan *rh_plan_with_jobs(const RhProblem *c, const RhPlanOptions *options,
                          const RhColocatedJobQuestion *ask,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
