#pragma once
/* A search as its parts see it: plan.c narrows layouts down to what is worth a rehearsal, funnel_batch.c
 * rehearses them, funnel.c keeps the best and says what could still better them. */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/funnel/candidate_heap.h"
#include "strategies/search/funnel/layout_store.h"
#include "strategies/search/funnel/prune.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearsal_queue.h"
#include "strategies/search/rehearsals/steady_state.h"
#include "strategies/search/unsearched.h"

/* The gap for what stands beside the rows (the best of a family, or of what fills more memory): it is compared with the first
 * row, and need be no nearer to the best of its like. */
#define RH_BESIDE_GAP_FRAC 0.03

/* One search over some of the layouts. */
typedef struct {
    GArray *heap;       /* RhCandidate */
    GPtrArray *entries; /* RhRehearsal*, best first, at most `top` */
    int32_t top, batch;
    double worth;      /* what is not below this is of no interest; INFINITY for all */
    double foreseen;   /* nor, by what the batch is expected to bring, below this */
    double gap_frac;   /* what it proves, where that is wider than the search's gap; 0: it is not */
    double left_out_s; /* of a family: the least bound of what was too large to rehearse */
    const char *family; /* that is looked for; NULL: any */
    bool filling;       /* nothing left can better the first row: rows behind it are looked for */
    double tasks_left;  /* that may be rehearsed for these */
} RhCandidateQueue;

/* The best entry with every byte as a SimGrid flow: begun behind the main race, while what stands beside the rows is
 * looked for. One that was told by fewer micro-batches is rehearsed whole, and its second part once with flows and once
 * with timers. */
#define RH_PERFORMANCE_RUNS 3
typedef struct {
    guint count; /* 0: none was begun */
    RhRehearsalNote notes[RH_PERFORMANCE_RUNS];
    int32_t numbers[RH_PERFORMANCE_RUNS]; /* in the queue */
    RhRun *runs[RH_PERFORMANCE_RUNS]; /* NULL and an error where there is none; when it is over */
    GError *errors[RH_PERFORMANCE_RUNS];
} RhPerformance;

/* One of a batch. */
typedef struct {
    int32_t layout;
    double bound_s; /* segment bound */
    RhEngineOptions options;
    RhSteadyStateParts parts; /* by which its step is told; `second` 0: it is rehearsed whole */
} RhBatchItem;

/* A search as far as it is. */
typedef struct {
    const RhProblem *c;
    const RhPlanOptions *o;
    RhPlan *plan;
    RhSpace *layouts;     /* all there are */
    RhLayoutStore *space; /* of these the candidates so far, and what nearly fits */
    RhBoundCache *cache;
    RhApart *apart;          /* where batches are rehearsed, of RhRehearsalNote */
    RhRehearsalQueue *queue; /* of the first row, beside the batches */
    RhUnsearchedTrials *outside;
    RhMemoryBudget room;
    RhCandidateQueue main, fuller; /* what keeps within the room, and what fits but fills more */
    RhCandidateQueue *race;        /* the one that is run */
    GPtrArray *behind; /* RhRehearsal*: of the main race, each family's best that is no entry */
    GArray *aside;     /* RhCandidate: too large for a quick rehearsal */
    GArray *batch;     /* RhBatchItem */
    GArray *foreseen;  /* RhExpectedValue: the entries, and what the batch is expected to bring */
    GArray *waiting;   /* RhCandidate: those that the batch is expected to beat by their kind */
    RhPerformance performance;
    double cuts_least_s, chunks_least_s; /* the least RH_KEY_CUT and RH_KEY_CHUNKS so far */
    int32_t cuts_at_once; /* that are opened: the more, the longer the search goes on */
    RhDeadline deadline;
    bool lacks_memory; /* some of the space was left out, unlisted, as it fits nowhere */
    GError *failed;
    GError *lost; /* why the first layout was lost */
} RhFunnel;

/* --- funnel.c --- */

RhLayout rh_funnel_layout(const RhFunnel *f, int32_t i);
bool rh_funnel_by_memory(const RhFunnel *f);
bool rh_funnel_by_energy(const RhFunnel *f);
/* Nothing more is begun: time is up, or something failed. Noted in the plan. */
bool rh_funnel_out_of_time(RhFunnel *f);
void rh_funnel_report(const RhFunnel *f, const char *stage, int64_t done, int64_t total);

/* What the search makes least: seconds, bytes or joules. */
double rh_funnel_objective(const RhFunnel *f, const RhRehearsal *r);
/* The entry of the layout's kind; -1 when there is none, or every variant has a row. */
int32_t rh_funnel_entry_of_kind(const RhFunnel *f, const RhLayout *l);
/* Takes `r` into the entries where it is among the best, or frees it. An entry goes that would save
 * time, and lose less than 1 % of the memory, if it ran no more again than another. */
void rh_funnel_keep(RhFunnel *f, RhRehearsal *r);
/* A rehearsal of the layout that takes longer than this becomes no entry, takes no other's place and is not the
 * best of its family; INFINITY where all are kept. */
double rh_funnel_in_vain_from_s(const RhFunnel *f, const RhLayout *l);
/* Can the candidate do no better than the entry of its kind, or than one that runs less again and holds no more?
 * Variants whose chunks are not alike must gain 1 % on others of the kind. */
bool rh_funnel_beaten(const RhFunnel *f, const RhCandidate *c);
/* Is the candidate's bound no better than the worth of the K-th best, with and without the handicaps of both, and
 * is it neither a variant of an entry nor one that runs other layers again, which could take that entry's place all
 * the same? */
bool rh_funnel_cannot_enter(const RhFunnel *f, const RhCandidate *c);
/* 1, or more for a variant whose chunks are not alike: what its time counts for among its kind. */
double rh_funnel_handicap(const RhFunnel *f, const RhLayout *l);
/* Times that moved may have changed places: best first again, equal ones as they were. */
void rh_funnel_sort(const RhFunnel *f);

/* Are bounds estimates (message by message)? */
bool rh_funnel_by_estimate(const RhFunnel *f);
/* A layout whose bound is not below this cannot better a step of step_s by more than the gap. */
double rh_funnel_worth_of_step(const RhFunnel *f, double step_s);
double rh_funnel_worth_of(const RhFunnel *f, const RhRehearsal *r);
/* No step of a layout with this bound is shorter. */
double rh_funnel_step_of_bound(const RhFunnel *f, double bound_s);
/* No bound of what is dropped beside `r` (rh_funnel_beaten) is below this. */
double rh_funnel_least_given_way(const RhFunnel *f, const RhRehearsal *r);
/* What is not below this is of no interest: the worth of the K-th best, as the engine gave it; of the race
 * while fewer are known. */
double rh_funnel_cut_off(const RhFunnel *f);

/* --- funnel_rows.c --- */

/* In the whole space, behind the proof: the best of further kinds, and of the first row's, among the next by their
 * bounds, as much as a fixed number of tasks allows for. */
void rh_funnel_fill_rows(RhFunnel *f);
/* Does the candidate do nothing for rows that are still looked for? */
bool rh_funnel_fills_no_row(RhFunnel *f, const RhCandidate *c);
/* From this bound on a candidate is expected behind the last row: as far above its bound as the nearest row is above its
 * own. */
double rh_funnel_row_worth(const RhFunnel *f);
/* One is rehearsed. */
void rh_funnel_charge_row(RhFunnel *f, const RhBatchItem *item);

/* --- plan.c --- */

/* Rehearses from the race's heap what could be among its best. */
void rh_funnel_run(RhFunnel *f, RhCandidateQueue *race);

/* --- funnel_cuts.c --- */

/* Every cut, into the main race. */
void rh_funnel_list_cuts(RhFunnel *f);
/* In which order cuts (RhLayout) are best looked at: int32_t, those of a shard behind one another. */
GArray *rh_funnel_by_shard(const RhFunnel *f, const GArray *cuts);

/* --- funnel_open.c --- */

/* A candidate of which knobs are open: what comes of it goes into the race that is run, or into that of fuller ones;
 * of layouts of the family alone, where one is named. With a cut those that come next are opened, too, which may share
 * the work. */
void rh_funnel_open(RhFunnel *f, const RhCandidate *c, const char *family);

/* --- funnel_families.c --- */

/* The best of each family that has no entry, into plan->families, or what it takes at least where that is far
 * behind; and what variants the entries stand for. */
void rh_funnel_search_families(RhFunnel *f);

/* --- funnel_batch.c --- */

/* Of the search's time; 0: it has no end. */
double rh_funnel_left_s(const RhFunnel *f);
/* Processes at a time. */
int32_t rh_funnel_jobs(const RhFunnel *f);
/* Of a rehearsal whose step is of no interest from enough_s on; INFINITY: in any case. */
RhEngineOptions rh_funnel_rehearsal_options(const RhFunnel *f, double enough_s);
/* Into the batch, whose rehearsals begin while it is filled, and what may come of it into what is foreseen. */
void rh_funnel_join_batch(RhFunnel *f, const RhCandidate *c, double bound_s);
/* Is the candidate better asked for when the batch is done? */
bool rh_funnel_waits(const RhFunnel *f, const RhCandidate *c);
/* Rehearses the batch, takes its best into the entries and leaves it empty. */
void rh_funnel_rehearse_batch(RhFunnel *f);
/* Empties the batch; what waited for it is a candidate again. */
void rh_funnel_leave_batch(RhFunnel *f);

/* --- funnel_perform.c --- */

/* Begins to perform the best entry, which rh_funnel_perform_best then finds done or under way. */
void rh_funnel_begin_performance(RhFunnel *f);
/* The best entry once more, every byte as a SimGrid flow: must agree with its rehearsal, which collapsed idle ones
 * into timers. Where it then is the best no longer, the next, until the best is one that was performed. */
void rh_funnel_perform_best(RhFunnel *f);
