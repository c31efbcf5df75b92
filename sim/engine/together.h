#pragma once
/* Several jobs on one fabric, rehearsed each alone and all together, in processes apart.
 *
 * Together, every job repeats its step until the last of them has done the steps that are asked of
 * it, so that none finds the fabric emptier than it will be; what a job does beyond its own is
 * performed and not counted. */
#include "sim/engine/session.h"

typedef struct {
    const char *name;
    double t_start_s;
    int32_t steps; /* that count, at least 1 */
} RhTogetherJob;

typedef struct {
    const RhTogetherJob *jobs;
    int32_t count;
    /* Program `job`, placed by its gpu_of_rank; called in a child. */
    RhProgram *(*build)(int32_t job, void *user, GError **error);
    void *user;
} RhTogetherAsk;

typedef struct {
    RhRun *alone, *beside; /* owned; of the steps that count */
    GArray *step_times;    /* double: of these, beside the others; owned */
    int32_t performed;     /* steps that ended, counted or not */
} RhTogetherPart;

typedef struct {
    GArray *parts; /* RhTogetherPart */
    GArray *links; /* RhSessionLink, on which they met */
    double t_end_s;
} RhTogether;
void rh_together_free(RhTogether *together);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTogether, rh_together_free)

/* Fails like rh_session_admit and rh_rehearse_apart. `processes` at once. */
RhTogether *rh_rehearse_together(const RhTogetherAsk *ask, const RhPlatform *platform,
                                 const RhEngineOptions *options, int32_t processes, GError **error);
