#pragma once
/* State of a search, shared by its parts: plan.c narrows layouts down to those worth a rehearsal,
 * funnel_batch.c rehearses them, funnel.c keeps the best and decides which candidates can still
 * better them. */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/funnel/candidate_heap.h"
#include "strategies/search/funnel/expected_value_pruning.h"
#include "strategies/search/funnel/layout_store.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearsal_queue.h"
#include "strategies/search/rehearsals/steady_state.h"
#include "strategies/search/unsearched_changes.h"

/* Gap of secondary searches (best of a family, best over the memory budget), whose results are only
 * compared with the first row. */
#define RH_BESIDE_GAP_FRAC 0.03

/* Candidates and results of one search over some of the layouts. */
typedef struct {
    GArray *heap;       /* RhCandidate */
    GPtrArray *entries; /* RhRehearsal*, best first, at most `top` */
    int32_t top, batch;
    double worth;       /* candidates with a bound of at least this are dropped; INFINITY: none */
    double foreseen;    /* the same limit, from the expected values of the batch */
    double gap_frac;    /* proved gap, if wider than the search's; 0: it is not */
    double left_out_s;  /* for a family: least bound of layouts too large to rehearse */
    const char *family; /* family searched; NULL: any */
    bool filling;       /* the first row is final, and further rows are searched */
    double tasks_left;  /* number of tasks that may be rehearsed for these rows */
} RhCandidateQueue;

/* Simulation of the best entry with every byte as a SimGrid flow, started after the main race,
 * during the secondary searches. An entry extrapolated from fewer micro-batches is rehearsed whole,
 * and its second part once with flows and once with timers. */
#define RH_PERFORMANCE_RUNS 3
typedef struct {
    guint count; /* number of runs; 0: none was begun */
    RhRehearsalNote notes[RH_PERFORMANCE_RUNS];
    int32_t numbers[RH_PERFORMANCE_RUNS]; /* numbers of the runs in the queue */
    RhRun *runs[RH_PERFORMANCE_RUNS];     /* results after the wait; NULL with an error */
    GError *errors[RH_PERFORMANCE_RUNS];
} RhPerformance;

/* A layout of a batch. */
typedef struct {
    int32_t layout;
    double bound_s; /* segment bound */
    RhEngineOptions options;
    RhSteadyStateParts parts; /* of its step, if extrapolated; else `second` is 0 */
} RhBatchItem;

/* State of a search. */
typedef struct {
    const RhProblem *c;
    const RhPlanOptions *o;
    RhPlan *plan;
    RhSpace *layouts;     /* the space of layouts */
    RhLayoutStore *space; /* layouts that are candidates or nearly fit */
    RhBoundCache *cache;
    RhIsolatedRuns *apart;   /* processes that rehearse batches, of RhRehearsalNote */
    RhRehearsalQueue *queue; /* rehearsals of the first row, beside the batches */
    RhUnsearchedTrials *outside;
    RhMemoryBudget room;
    double listed_bytes;                /* layouts that need more are not listed */
    RhCandidateQueue main, over_budget; /* candidates within the memory budget, and those over it */
    RhCandidateQueue *race;             /* the queue that is run */
    GPtrArray *behind;                  /* RhRehearsal*: best of each family that is no entry */
    GArray *aside;                      /* RhCandidate: too large for a quick rehearsal */
    GArray *batch;                      /* RhBatchItem */
    GArray *foreseen; /* RhExpectedValue: entries and expected results of the batch */
    GArray *waiting;  /* RhCandidate: expected to be beaten by one of the batch of their kind */
    RhPerformance performance;
    double cuts_least_s, chunks_least_s; /* the least RH_KEY_CUT and RH_KEY_CHUNKS so far */
    int32_t cuts_at_once; /* number of cuts opened at once; grows during the search */
    RhDeadline deadline;
    bool lacks_memory; /* layouts were left out, unlisted, because they fit nowhere */
    GError *failed;
    GError *lost; /* error of the first layout that was lost */
} RhFunnel;

/* --- funnel.c --- */

RhLayout rh_funnel_layout(const RhFunnel *f, int32_t i);
bool rh_funnel_by_memory(const RhFunnel *f);
bool rh_funnel_by_energy(const RhFunnel *f);
/* Must the search stop, because time is up or something failed? Noted in the plan. */
bool rh_funnel_out_of_time(RhFunnel *f);
void rh_funnel_report(const RhFunnel *f, const char *stage, int64_t done, int64_t total);

/* Returns the objective that the search minimises: seconds, bytes or joules. */
double rh_funnel_objective(const RhFunnel *f, const RhRehearsal *r);
/* Returns the index of the entry of the layout's kind; -1: none, or every variant has a row. */
int32_t rh_funnel_entry_of_kind(const RhFunnel *f, const RhLayout *l);
/* Adds `r` to the entries if it is among the best, or frees it. Drops an entry that would save time
 * and lose less than 1 % of the memory with no more recomputation than another. */
void rh_funnel_keep(RhFunnel *f, RhRehearsal *r);
/* Returns the step time from which on a rehearsal of the layout becomes no entry, replaces none,
 * and is not the best of its family; INFINITY: all are kept. */
double rh_funnel_in_vain_from_s(const RhFunnel *f, const RhLayout *l);
/* Can the candidate do no better than the entry of its kind, or than one that runs less again
 * and holds no more? Variants whose chunks are not alike must gain 1 % on others of the kind. */
bool rh_funnel_beaten(const RhFunnel *f, const RhCandidate *c);
/* Is the candidate's bound no better than the worth of the K-th best, with and without the
 * handicaps of both, and is it neither a variant of an entry nor one that runs other layers
 * again, which could take that entry's place all the same? */
bool rh_funnel_cannot_enter(const RhFunnel *f, const RhCandidate *c);
/* Returns the factor of a layout's time in comparisons within its kind: 1, or more for a variant
 * with unequal chunks. */
double rh_funnel_handicap(const RhFunnel *f, const RhLayout *l);
/* Sorts the entries again, best first, after their times changed; the sort is stable. */
void rh_funnel_sort(const RhFunnel *f);

/* Are bounds estimates (message by message)? */
bool rh_funnel_by_estimate(const RhFunnel *f);
/* Returns the bound from which on a layout cannot better a step of step_s by more than the gap. */
double rh_funnel_worth_of_step(const RhFunnel *f, double step_s);
double rh_funnel_worth_of(const RhFunnel *f, const RhRehearsal *r);
/* Returns the shortest possible step of a layout with this bound. */
double rh_funnel_step_of_bound(const RhFunnel *f, double bound_s);
/* Returns a lower limit of the bounds of layouts that are dropped in favour of `r`
 * (rh_funnel_beaten). */
double rh_funnel_least_given_way(const RhFunnel *f, const RhRehearsal *r);
/* Returns the bound from which on candidates are dropped: the worth of the K-th best as simulated,
 * or that of the queue while fewer are known. */
double rh_funnel_cut_off(const RhFunnel *f);

/* Returns the bound from which on a candidate is expected behind the last row, if its step exceeds
 * its bound by as much as that of the nearest row. */
double rh_funnel_row_worth(const RhFunnel *f);

/* --- funnel_runners_up.c --- */

/* Searches further rows after the proof: rehearses candidates in the order of their bounds, within
 * a fixed number of tasks. */
void rh_funnel_fill_rows(RhFunnel *f);

/* --- funnel_run.c --- */

/* Is the candidate useless for the rows that are still searched? */
bool rh_funnel_fills_no_row(RhFunnel *f, const RhCandidate *c);
/* Does a candidate have too many tasks for its next stage? */
bool rh_funnel_is_too_large(RhFunnel *f, const RhCandidate *c);
/* Keeps a candidate by its bound alone, in a quick search. */
void rh_funnel_keep_quick(RhFunnel *f, const RhCandidate *c);
/* Computes the next bound of a candidate and puts it back into its queue. */
void rh_funnel_refine_bound(RhFunnel *f, RhCandidate c);
/* Takes a candidate that may be among the rows to its next stage. */
void rh_funnel_examine_candidate(RhFunnel *f, RhCandidate c);
/* Rehearses the candidates of the queue that can be among its best. */
void rh_funnel_run(RhFunnel *f, RhCandidateQueue *race);

/* --- funnel_partial_layout_bounds.c --- */

/* Adds every cut to the main queue. */
void rh_funnel_list_cuts(RhFunnel *f);
/* Returns the order (int32_t) in which cuts (RhLayout) are best evaluated: those of a shard
 * together. */
GArray *rh_funnel_by_shard(const RhFunnel *f, const GArray *cuts);

/* --- funnel_open_knobs.c --- */

/* Sets the next open knob of a candidate. The results go into the race that is run, or into that of
 * layouts over the memory budget; only layouts of `family` if one is named. Cuts that come next are
 * opened with a cut, as they may share its work. */
void rh_funnel_open(RhFunnel *f, const RhCandidate *c, const char *family);

/* --- funnel_families.c --- */

/* Adds the best layout of each family without an entry to plan->families, or a lower bound of its
 * step if it is far behind; counts the variants of the entries. */
void rh_funnel_search_families(RhFunnel *f);

/* --- funnel_batch.c --- */

/* Subtracts the tasks of a rehearsal from the number allowed. */
void rh_funnel_charge_row(RhFunnel *f, const RhBatchItem *item);
/* Returns the seconds left for the search; 0: no limit. */
double rh_funnel_left_s(const RhFunnel *f);
/* Returns the number of simultaneous processes. */
int32_t rh_funnel_jobs(const RhFunnel *f);
/* Returns the options of a rehearsal that may stop at a step of cutoff_s; INFINITY: never. */
RhEngineOptions rh_funnel_rehearsal_options(const RhFunnel *f, double cutoff_s);
/* Adds a candidate to the batch, whose rehearsals begin while it is filled, and its expected value
 * to `foreseen`. */
void rh_funnel_join_batch(RhFunnel *f, const RhCandidate *c, double bound_s);
/* Should the candidate wait for the results of the batch? */
bool rh_funnel_waits(const RhFunnel *f, const RhCandidate *c);
/* Rehearses the batch, adds its best to the entries and empties it. */
void rh_funnel_rehearse_batch(RhFunnel *f);
/* Empties the batch and returns waiting candidates to the queue. */
void rh_funnel_leave_batch(RhFunnel *f);

/* --- funnel_verify_best.c --- */

/* Starts to simulate the best entry in full, for rh_funnel_perform_best. */
void rh_funnel_begin_performance(RhFunnel *f);
/* Simulates the best entry again with every byte as a SimGrid flow; the result must agree with its
 * rehearsal, which replaces uncontended flows by timers. Repeats with the next entry if another one
 * is then the best. */
void rh_funnel_perform_best(RhFunnel *f);
