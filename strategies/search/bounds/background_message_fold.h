#pragma once
/* Folds of programs that make each call once, from which lockstep_messages.c reads the cost of
 * messages. One fold may be computed by a thread during the search. Private to this folder. */
#include "strategies/search/bounds/message_times.h"

/* A program to fold and the results; owns all members. */
typedef struct {
    RhProgram *program;
    int32_t stages, *distance; /* RhMessageTimes */
    RhDeadline deadline;       /* the bound cache's, which moves from search to search */
    RhTraffic *traffic;
    RhFold *fold;
    RhFoldedNetwork *quotient; /* NULL: ranks were merged, so loads of links were not computed */
    RhLinkCost *hops;          /* NULL: the deadline has passed */
} RhFoldTask;

/* Folds the program. Reads only constant members of the bound cache, so it may run during the
 * search. */
void rh_fold_task_run(const RhBoundCache *cache, RhFoldTask *task);
/* Stores the fold, complete or unfinished, for rehearsals; returns the hops, which the caller
 * frees. */
RhLinkCost *rh_fold_task_take(RhBoundCache *cache, RhFoldTask *task);

/* Starts a thread that folds the task, which it takes over. No other fold may be running. `key`
 * identifies the fold in rh_background_fold_end. */
void rh_background_fold_begin(RhBoundCache *cache, GBytes *key, RhFoldTask task);
/* Has a fold been started and not yet collected? */
bool rh_background_fold_runs(const RhBoundCache *cache);
/* Waits for the fold of this key and moves it to *task; false: there is none, or it was cut
 * short. */
bool rh_background_fold_end(RhBoundCache *cache, GBytes *key, RhFoldTask *task);
/* Waits until the thread has ended, so that a forked process inherits none of its locks; keeps its
 * results. */
void rh_background_fold_wait(RhBoundCache *cache);
void rh_background_fold_forget(RhBoundCache *cache);
/* Frees the open fold, which a later fold would replace. */
void rh_open_fold_forget(RhBoundCache *cache);
