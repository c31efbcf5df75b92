#pragma once
/* Folds of programs that do each thing once, for what their messages take: screen_step.c. One may be folded beside
 * the search, on a thread of its own, while another is asked for. Private to this folder. */
#include "strategies/search/screen_hops.h"

/* What is folded, and what came of it; all owned. */
typedef struct {
    RhProgram *program;
    int32_t stages, *distance; /* RhDistances */
    RhDeadline deadline;       /* the screen's, which moves from search to search */
    RhTraffic *traffic;
    RhFold *fold;
    RhQuotient
        *quotient; /* NULL: ranks were merged, and what collectives put on links was not asked */
    RhHop *hops;   /* NULL: the deadline has passed */
} RhFoldTask;

/* Folds the program. Of the screen only what never changes is read: it may run beside the search. */
void rh_fold_task_run(const RhScreen *screen, RhFoldTask *task);
/* Leaves the fold for rehearsals, ended or open; the hops are the caller's. */
RhHop *rh_fold_task_take(RhScreen *screen, RhFoldTask *task);

/* Begins to fold beside the search, where nothing else is; takes over the task. `key`: by whose messages it will be
 * asked for. */
void rh_fold_ahead_begin(RhScreen *screen, GBytes *key, RhFoldTask task);
/* Is one begun, asked for or not? */
bool rh_fold_ahead_runs(const RhScreen *screen);
/* Waits for the one of this key; false: it is not being folded, or was cut short. */
bool rh_fold_ahead_end(RhScreen *screen, GBytes *key, RhFoldTask *task);
/* Waits for what nobody asked for. */
/* Until its thread has ended, whose locks no process that is forked may inherit; what it found stays. */
void rh_fold_ahead_wait(RhScreen *screen);
void rh_fold_ahead_forget(RhScreen *screen);
