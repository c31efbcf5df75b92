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

/* Makes a queue. Its processes are forked from one that is made here, so call this while the caller
 * is small and after what cases need was made. The tables are borrowed; there are `jobs` processes,
 * one of which is the caller while it waits. */
RhRehearsalQueue *rh_rehearsal_queue_new(const RhPlatform *platform, RhUncontendedTimes *alone,
                                         RhFoldedTable *folded, int32_t jobs);
void rh_rehearsal_queue_free(RhRehearsalQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRehearsalQueue, rh_rehearsal_queue_free)
/* Adds the rehearsal of a case on the queue's platform, and returns the number by which its answer is taken. */
int32_t rh_rehearsal_queue_add(RhRehearsalQueue *queue, const RhProblem *c,
                               const RhRehearsalNote *note, const RhEngineOptions *options);
/* Returns when all that were added have their answers. */
void rh_rehearsal_queue_wait(RhRehearsalQueue *queue);
/* Takes the run of a rehearsal after a wait, once; the caller frees it. NULL with the error of
 * rh_rehearse_isolated. */
RhRun *rh_rehearsal_queue_take(RhRehearsalQueue *queue, int32_t number,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
