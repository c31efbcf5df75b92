#pragma once
/* Runs a search for the changed question of a result. */
#include "strategies/search/memory_budget.h"

#define RH_REPLAN_TIE_FRAC 0.002 /* a plan that is better by less is a tie */

/* A plan of a result: the figures that its file holds. */
typedef struct {
    int64_t rank;
    RhRehearsal r;
} RhResultPlan;

/* A result's plans and the bounds of the search that ranked them. Borrows everything. */
typedef struct {
    bool is_plan; /* else the one layout of a simulation */
    RhObjective objective;
    const GArray *plans; /* RhResultPlan */
    const RhConstraint *constraints;
    int32_t constraints_count;
    double risk_frac;
    int64_t seed;
    /* RhPlanOptions.progress; may be NULL */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s, void *user);
} RhRecordedPlan;

/* Finds the best layout for the problem within the bounds of the result's search; NULL where none
 * fits or is legal. `full`: searches until no other layout can be better by more than a tie; else
 * chooses by lower bounds and among the layouts of the file. Fails with an error of the rehearsals.
 */
bool rh_replan(const RhProblem *c, const RhRecordedPlan *before, bool full, RhRehearsal **best,
               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the RhNearBatch (near_batch.h) of the best layout by a quick search within the same
 * bounds, where the objective is time; else an empty array. Caller unrefs. */
GArray *rh_replan_near_batches(const RhProblem *c, const RhRecordedPlan *before,
                               const RhRehearsal *best);
/* Returns the rehearsed best layouts of a search by lower bounds: RhRehearsal, caller frees with
 * g_ptr_array_unref; an empty array where nothing fits or is legal. NULL: an error of the
 * rehearsals. */
GPtrArray *rh_replan_quickest(const RhProblem *c, const RhRecordedPlan *before,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the memory budget of layouts within the bounds of the result's search. */
RhMemoryBudget rh_replan_memory_budget(const RhRecordedPlan *before, const RhProblem *c);
/* Settles a layout (layout_representatives.h), since anybody may have edited a result, and rehearses it with
 * its timeline if `run` is not NULL. Caller frees all three. */
RhRehearsal *rh_rehearse_settled(const RhProblem *c, const RhLayout *layout, int64_t seed,
                                 RhProgram **program, RhRun **run,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
