#pragma once
/* Rehearsals that run while the caller looks at something else.
 *
 *     int32_t number = rh_rehearsal_queue_add(queue, c, &note, &options);
 *     ...
 *     rh_rehearsal_queue_wait(queue);
 *     RhRun *run = rh_rehearsal_queue_take(queue, number, &error); */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/rehearsals/steady_state.h"

typedef struct RhRehearsalQueue RhRehearsalQueue;

/* The processes are forked from one that is made here: do so while this one is small. What a case leads to must be
 * there already. The tables are borrowed; `jobs` processes, one of which is the caller until it waits. */
RhRehearsalQueue *rh_rehearsal_queue_new(const RhPlatform *platform, RhUncontendedTimes *alone,
                                         RhFoldedTable *folded, int32_t jobs);
void rh_rehearsal_queue_free(RhRehearsalQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRehearsalQueue, rh_rehearsal_queue_free)
/* Adds the rehearsal of a case on the queue's platform, and returns the number by which its answer is taken. */
int32_t rh_rehearsal_queue_add(RhRehearsalQueue *queue, const RhProblem *c,
                               const RhRehearsalNote *note, const RhEngineOptions *options);
/* Returns when all that were added have their answers. */
void rh_rehearsal_queue_wait(RhRehearsalQueue *queue);
/* The caller's, once; NULL and the error as of rh_rehearse_isolated. Behind a wait. */
RhRun *rh_rehearsal_queue_take(RhRehearsalQueue *queue, int32_t number,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
