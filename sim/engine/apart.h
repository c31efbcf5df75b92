#pragma once
/* Rehearsals in processes of their own. SimGrid allows one engine per process, and it cannot be
 * made again; who wants more than one rehearsal, or wants to survive it, has them performed here.
 */
#include "sim/engine/engine.h"

/* rh_engine_run in a forked child. Also fails with RH_ERROR_NO_ANSWER when the time or a resource
 * of the machine has run out (options->timeout_s counts from the call), RH_ERROR_INTERNAL when the
 * child crashed. */
RhRun *rh_rehearse_apart(const RhProgram *p, const RhPlatform *platform,
                         const RhEngineOptions *options, GError **error);

/* Many at once: `jobs` children take items 0..count-1; build(i, user) makes program i in the child
 * (fork shares the memory); results arrive in out[i], NULL with the error in errors[i]: both the
 * caller's. `progress(done, user)` is called as each ends, and about each second meanwhile; may be NULL. The
 * result does not depend on `jobs`. */
typedef RhProgram *(*RhBuildFunc)(int32_t index, void *user, GError **error);
void rh_rehearse_apart_many(int32_t count, int32_t jobs, RhBuildFunc build,
                            const RhPlatform *platform, const RhEngineOptions *options, void *user,
                            RhRun **out, GError **errors,
                            void (*progress)(int32_t done, void *user));
