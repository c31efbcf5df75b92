#pragma once
/* A search as its parts see it: plan.c narrows layouts down to what is worth a rehearsal, funnel_batch.c
 * rehearses them, funnel.c keeps the best and says what could still better them. */
#include "sim/engine/apart.h"
#include "strategies/search/foresight.h"
#include "strategies/search/heap.h"
#include "strategies/search/kept.h"
#include "strategies/search/plan.h"
#include "strategies/search/room.h"

/* One search over some of the layouts. */
typedef struct {
    GArray *heap;       /* RhCandidate */
    GPtrArray *entries; /* RhRehearsal*, best first, at most `top` */
    int32_t top, batch;
    double worth;       /* what is not below this is of no interest; INFINITY for all */
    double foreseen;    /* nor, by what the batch is expected to bring, below this */
    double left_out_s;  /* of a family: the least bound of what was too large to rehearse */
    const char *family; /* that is looked for; NULL: any */
} RhRace;

/* The best entry with every byte as a SimGrid flow: begun behind the main race, while what stands beside the rows is
 * looked for, as the first item of the batch to come. */
typedef struct {
    bool begun;
    RhLayout layout;
    RhEngineOptions options;
    RhRun *run; /* NULL and an error where there is none; when it is over */
    GError *error;
} RhPerformance;

/* A search as far as it is. */
typedef struct {
    const RhCase *c;
    const RhPlanOptions *o;
    RhPlan *plan;
    RhSpace *layouts; /* all there are */
    RhKept *space;    /* of these the candidates so far, and what nearly fits */
    RhScreen *screen;
    RhApart *apart;        /* where rehearsals run */
    RhApart *steady_apart; /* ... and those of fewer micro-batches */
    GArray *steady;        /* RhCandidate: of which such are begun */
    RhRoom room;
    RhRace main, fuller; /* what keeps within the room, and what fits but fills more */
    RhRace *race;        /* the one that is run */
    GPtrArray *behind;   /* RhRehearsal*: of the main race, each family's best that is no entry */
    GArray *aside;       /* RhCandidate: too large for a quick rehearsal */
    GArray *batch;       /* int32_t layouts */
    GArray *bounds;      /* double: segment bound of each of the batch */
    GArray *told;        /* double: step of each by fewer micro-batches; NAN: none was told */
    GArray *options;     /* RhEngineOptions: what each of it was begun with */
    GArray *foreseen;    /* RhForeseen: the entries, and what the batch is expected to bring */
    GArray *waiting;     /* RhCandidate: those that the batch is expected to beat by their kind */
    RhPerformance performance;
    RhDeadline deadline;
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

/* --- plan.c --- */

/* Rehearses from the race's heap what could be among its best. */
void rh_funnel_run(RhFunnel *f, RhRace *race);

/* --- funnel_open.c --- */

/* Every cut, into the main race. */
void rh_funnel_list_cuts(RhFunnel *f);
/* A candidate of which knobs are open: what comes of it goes into the race that is run, or into that of fuller ones;
 * of layouts of the family alone, where one is named. */
void rh_funnel_open(RhFunnel *f, const RhCandidate *c, const char *family);

/* --- funnel_steady.c --- */

/* Where such rehearsals run, forked while this process is small. */
RhApart *rh_funnel_steady_apart_new(const RhCase *c, RhAloneTimes *alone, RhFoldedTable *folded);
/* Is a step of the layout long enough for a part of it to tell the rest? */
bool rh_funnel_repeats(RhFunnel *f, const RhLayout *l);
/* A candidate whose step is to be told so, with others. */
void rh_funnel_join_steady(RhFunnel *f, const RhCandidate *c);
/* Tells them, and puts them back into the race that is run. */
void rh_funnel_tell_steady(RhFunnel *f);
/* How far the step of a rehearsal is from what was told before it, at most, until now. */
void rh_funnel_judge_steady(RhFunnel *f, const RhRun *run, double told_s);

/* --- funnel_families.c --- */

/* The best of each family that has no entry, into plan->families, or what it takes at least where that is far
 * behind; and what variants the entries stand for. */
void rh_funnel_search_families(RhFunnel *f);

/* --- funnel_batch.c --- */

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
/* Begins to perform the best entry, which rh_funnel_perform_best then finds done or under way. */
void rh_funnel_begin_performance(RhFunnel *f);
/* The best entry once more, every byte as a SimGrid flow: must agree with its rehearsal, which collapsed idle ones
 * into timers. Where it then is the best no longer, the next, until the best is one that was performed. */
void rh_funnel_perform_best(RhFunnel *f);
