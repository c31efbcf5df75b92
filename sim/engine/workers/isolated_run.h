#pragma once
/* Rehearsals in processes of their own. SimGrid allows one engine per process, and it cannot be
 * made again; who wants more than one rehearsal, or wants to survive it, has them performed here.
 */
#include "sim/engine/engine.h"

/* rh_engine_run in a forked child. Also fails with RH_ERROR_NO_ANSWER when time or memory has run out
 * (options->timeout_s counts from the call), RH_ERROR_REFUSED when no child can be made, RH_ERROR_INTERNAL
 * when it crashed. */
RhRun *rh_rehearse_isolated(const RhProgram *p, const RhPlatform *platform,
                            const RhEngineOptions *options, GError **error);

/* Many at once: `jobs` children take items 0..count-1; build(i, user) makes program i in the child
 * (fork shares the memory); results arrive in out[i], NULL with the error in errors[i]: both the
 * caller's. `progress(done, user)` is called as each ends, and about each second meanwhile; may be NULL. The
 * result does not depend on `jobs`. */
typedef RhProgram *(*RhBuildFunc)(int32_t index, void *user, GError **error);
void rh_rehearse_isolated_many(int32_t count, int32_t jobs, RhBuildFunc build,
                               const RhPlatform *platform, const RhEngineOptions *options,
                               void *user, RhRun **out, GError **errors,
                               void (*progress)(int32_t done, void *user));

/* Many calls of these, while the caller grows: children are forked in a nursery (fork_server.h), made while
 * the caller is small, and know of a program what its note says. */
typedef struct RhApart RhApart;
/* build(note, user) makes a program in the child, where all that `user` leads to is as it was when this
 * was called. `platform` and both tables are borrowed; what these learn, the children are told: folds are
 * theirs then. */
typedef RhProgram *(*RhBuildNoteFunc)(const void *note, void *user, GError **error);
RhApart *rh_isolated_run_new(RhBuildNoteFunc build, size_t note_bytes, const RhPlatform *platform,
                             RhUncontendedTimes *alone, RhFoldedTable *folded, void *user);
void rh_isolated_run_free(RhApart *apart);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhApart, rh_isolated_run_free)
/* The first items of the next rh_isolated_run_run_each, one by one: begun at once where fewer than jobs - 1 are at work, as
 * the caller is at work itself. Their time counts from the first of them. */
void rh_isolated_run_begin(RhApart *apart, int32_t jobs, const void *note,
                           const RhEngineOptions *options);
/* There will be no such call. What is run later takes its processes from the caller. */
void rh_isolated_run_forget(RhApart *apart);
/* As rh_rehearse_isolated_many, of programs from `notes`, one behind another; the options' tables are those
 * that `apart` was made with. `user` is progress's. */
void rh_isolated_run_run(RhApart *apart, int32_t count, int32_t jobs, const void *notes,
                         const RhEngineOptions *options, RhRun **out, GError **errors,
                         void (*progress)(int32_t done, void *user), void *user);
/* The same, each item by options of its own; the first one's timeout is that of the call. */
void rh_isolated_run_run_each(RhApart *apart, int32_t count, int32_t jobs, const void *notes,
                              const RhEngineOptions *options, RhRun **out, GError **errors,
                              void (*progress)(int32_t done, void *user), void *user);
