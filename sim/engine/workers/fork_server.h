#pragma once
/* Fork server: a process forked while its caller is small, which forks workers on the caller's
 * behalf.
 *
 * A fork copies the page tables of its process: a search grows to half a gigabyte and runs hundreds
 * of rehearsals, each shorter than such a fork. Workers see only the state from before the fork
 * server started, plus the note of each item and the messages to all. */
#include <stdbool.h>

#include "sim/engine/workers/process_pool.h"

typedef struct {
    /* Performs an item in a worker, as RhProcessPool.perform, from the item's note. */
    GByteArray *(*perform)(const void *note, void *user, GError **error);
    size_t note_bytes; /* size of each note */
    /* Runs once in the fork server: the preparation that every worker would otherwise repeat.
     * False: it failed, and the fork server ends. May be NULL. */
    bool (*begin)(void *user);
    /* Receives the messages to all workers, in the fork server before it forks them; may be NULL.
     */
    void (*hear)(const void *news, size_t length, void *user);
    void *user; /* in its state when the fork server was made */
} RhForkServerWork;

typedef struct RhForkServer RhForkServer;

/* Starts the fork server. Where no process can be made, the caller forks its workers itself. */
RhForkServer *rh_fork_server_new(const RhForkServerWork *work);
void rh_fork_server_free(RhForkServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhForkServer, rh_fork_server_free)
/* Submits the next item of a later rh_fork_server_run: it begins at once where fewer than `jobs`
 * are running, while the caller goes on. The timeout counts from the first of these calls. */
void rh_fork_server_begin(RhForkServer *server, int32_t jobs, double timeout_s, const void *note,
                          const GByteArray *news);
/* Ends the items begun by rh_fork_server_begin, and then the fork server; does nothing when none
 * was begun. */
void rh_fork_server_forget(RhForkServer *server);
/* Runs rh_process_pool_run with the fork server's work in place of workers->perform; `answer` and
 * `waiting` run in the caller. `notes` holds one note per item in a row, starting with the items
 * that were begun before. */
void rh_fork_server_run(RhForkServer *server, const RhProcessPool *workers, const void *notes,
                        const GByteArray *news);
