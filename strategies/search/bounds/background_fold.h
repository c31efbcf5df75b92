#pragma once
/* Folds of programs that do each thing once, for what their messages take: lockstep_messages.c. One may be folded beside
 * the search, on a thread of its own, while another is asked for. Private to this folder. */
#include "strategies/search/bounds/message_times.h"

/* What is folded, and what came of it; all owned. */
typedef struct {
    RhProgram *program;
    int32_t stages, *distance; /* RhMessageTimes */
    RhDeadline deadline;       /* the bound cache's, which moves from search to search */
    RhTraffic *traffic;
    RhFold *fold;
    RhFoldedNetwork
        *quotient;    /* NULL: ranks were merged, and what collectives put on links was not asked */
    RhLinkCost *hops; /* NULL: the deadline has passed */
} RhFoldTask;

/* Folds the program. Of the bound cache only what never changes is read: it may run beside the search. */
void rh_fold_task_run(const RhBoundCache *cache, RhFoldTask *task);
/* Leaves the fold for rehearsals, ended or open; the hops are the caller's. */
RhLinkCost *rh_fold_task_take(RhBoundCache *cache, RhFoldTask *task);

/* Begins to fold beside the search, where nothing else is; takes over the task. `key`: by whose messages it will be
 * asked for. */
void rh_background_fold_begin(RhBoundCache *cache, GBytes *key, RhFoldTask task);
/* Is one begun, asked for or not? */
bool rh_background_fold_runs(const RhBoundCache *cache);
/* Waits for the one of this key; false: it is not being folded, or was cut short. */
bool rh_background_fold_end(RhBoundCache *cache, GBytes *key, RhFoldTask *task);
/* Waits for what nobody asked for. */
/* Until its thread has ended, whose locks no process that is forked may inherit; what it found stays. */
void rh_background_fold_wait(RhBoundCache *cache);
void rh_background_fold_forget(RhBoundCache *cache);
