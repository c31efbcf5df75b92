#pragma once
/* A process forked while its caller is small, from which workers are forked in the caller's stead.
 *
 * A fork copies the page tables of all that its process holds: a search comes to hold half a gigabyte and
 * has hundreds of rehearsals performed, each shorter than its fork would be. What the caller has learnt
 * since the nursery was made its workers know from notes alone, an item's and what all are told. */
#include <stdbool.h>

#include "sim/engine/workers/process_pool.h"

typedef struct {
    /* In a worker: as RhProcessPool.perform, of an item's note. */
    GByteArray *(*perform)(const void *note, void *user, GError **error);
    size_t note_bytes; /* of each */
    /* In the nursery, once: what every worker would have to do first, so that it finds it done. False: it cannot
     * be, and the nursery ends. May be NULL. */
    bool (*begin)(void *user);
    /* In the nursery, before it forks workers: what they are told besides; may be NULL. */
    void (*hear)(const void *news, size_t length, void *user);
    void *user; /* as it was when the nursery was made */
} RhForkServerWork;

typedef struct RhForkServer RhForkServer;

/* Where the machine lends no further process, the caller forks its workers itself. */
RhForkServer *rh_fork_server_new(const RhForkServerWork *work);
void rh_fork_server_free(RhForkServer *nursery);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhForkServer, rh_fork_server_free)
/* The next item of the rh_fork_server_run to come: begun at once where fewer than `jobs` are at work, while the caller
 * is at something else. The time counts from the first of the call. */
void rh_fork_server_begin(RhForkServer *nursery, int32_t jobs, double timeout_s, const void *note,
                          const GByteArray *news);
/* There will be no such call: what was begun ends, and with it the nursery. */
void rh_fork_server_forget(RhForkServer *nursery);
/* rh_process_pool_run with the nursery's work in place of workers->perform; answers and waiting are the
 * caller's as there. `notes` has one for each item, one behind another, those
 * that were begun first. */
void rh_fork_server_run(RhForkServer *nursery, const RhProcessPool *workers, const void *notes,
                        const GByteArray *news);
