#pragma once
/* Runs rehearsals in processes of their own, because SimGrid allows one engine per process, and
 * because a crash of the child then becomes an error. */
#include "sim/engine/engine.h"

/* Runs rh_engine_run in a forked child. Also fails with RH_ERROR_NO_ANSWER when time or memory has
 * run out (options->timeout_s counts from the call), RH_ERROR_REFUSED when no child can be made,
 * RH_ERROR_INTERNAL when it crashed. */
RhRun *rh_rehearse_isolated(const RhProgram *p, const RhPlatform *platform,
                            const RhEngineOptions *options,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Rehearsals to run. Everything is borrowed. */
typedef struct {
    int32_t count, jobs;            /* items; children at a time */
    const void *notes;              /* of RhIsolatedRuns: what programs are built from, in a row */
    const RhEngineOptions *options; /* one for all items; the timeout is that of the call */
    bool options_each;              /* one for each item; the first one's timeout is the call's */
    /* of each item: the run, or NULL with an error; both are the caller's to free */
    RhRun **out;
    GError **errors;
    /* called as each ends, and about each second in between; may be NULL */
    void (*progress)(int32_t done, void *user);
    void *user;
} RhIsolatedBatch;

/* Runs many rehearsals; build(i, user) makes program i in the child (fork shares the memory). The
 * result does not depend on `jobs`. */
typedef RhProgram *(*RhBuildFunc)(int32_t index, void *user, GError **error);
void rh_rehearse_isolated_many(const RhIsolatedBatch *batch, RhBuildFunc build,
                               const RhPlatform *platform);

/* A handle for many such calls by a caller that grows: children are forked by a fork server
 * (fork_server.h) that is started while the caller is small, and get a program as a note. */
typedef struct RhIsolatedRuns RhIsolatedRuns;
/* Starts the fork server. build(note, user) makes a program in the child, where `user` and all it
 * points to are in their state of this call. `platform` and both tables are borrowed; new entries
 * are sent to the children, and folds are moved there. */
typedef RhProgram *(*RhBuildNoteFunc)(const void *note, void *user, GError **error);
RhIsolatedRuns *rh_isolated_run_new(RhBuildNoteFunc build, size_t note_bytes,
                                    const RhPlatform *platform, RhUncontendedTimes *alone,
                                    RhFoldedTable *folded, void *user);
void rh_isolated_run_free(RhIsolatedRuns *apart);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhIsolatedRuns, rh_isolated_run_free)
/* Submits the first items of the next rh_isolated_run_batch, one by one: each begins at once
 * where fewer than jobs - 1 are running, because the caller works too. Their timeout counts from
 * the first one. */
void rh_isolated_run_begin(RhIsolatedRuns *apart, int32_t jobs, const void *note,
                           const RhEngineOptions *options);
/* Ends the items begun by rh_isolated_run_begin. Later runs then fork their processes from the
 * caller. */
void rh_isolated_run_forget(RhIsolatedRuns *apart);
/* Runs rehearsals as rh_rehearse_isolated_many does, of programs built from the batch's notes; the
 * tables are those that `apart` was made with. */
void rh_isolated_run_batch(RhIsolatedRuns *apart, const RhIsolatedBatch *batch);
