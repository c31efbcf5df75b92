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
} RhMultiJobPart;

/* A policy that is played beside the jobs, or alone: it sends parcels (session.h), and the answer that it
 * packs is what it is told for. All in a child. */
typedef struct RhJobStage RhJobStage;
typedef struct {
    /* A program of its ways, placed by its gpu_of_rank, whose sends parcels take. */
    RhProgram *(*ways)(void *user, GError **error);
    /* To its end; NULL and an error. */
    GByteArray *(*play)(RhJobStage *stage, void *user, GError **error);
    void *user;
} RhMultiJobService;
/* Its parcels; `job` is filled in. Leaves when the clock says. */
bool rh_job_stage_post(RhJobStage *stage, RhSessionMessage parcel, GError **error);
/* Until a parcel has arrived, or until_s (an event of kind NONE); the jobs' steps meanwhile are counted. */
bool rh_job_stage_run(RhJobStage *stage, double until_s, RhSessionEvent *event, GError **error);

typedef struct {
    const RhMultiJobPart *jobs;
    int32_t count;
    /* Program `job`, placed by its gpu_of_rank; called in a child. */
    RhProgram *(*build)(int32_t job, void *user, GError **error);
    void *user;
    const RhMultiJobService *guest; /* NULL: none */
} RhMultiJobQuestion;

typedef struct {
    RhRun *alone, *beside; /* owned; of the steps that count */
    GArray *step_times;    /* double: of these, beside the others; owned */
    int32_t performed;     /* steps that ended, counted or not */
} RhMultiJobResult;

typedef struct {
    GArray *parts; /* RhMultiJobResult */
    GArray *links; /* RhSessionLink, on which they met; the guest is the last job */
    GByteArray *guest_alone, *guest_beside; /* its answers; NULL without one */
    double t_end_s;
} RhMultiJobRun;
void rh_multi_job_free(RhMultiJobRun *together);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMultiJobRun, rh_multi_job_free)

/* Fails like rh_session_admit and rh_rehearse_isolated. `processes` at once. */
RhMultiJobRun *rh_multi_job_rehearse(const RhMultiJobQuestion *ask, const RhPlatform *platform,
                                     const RhEngineOptions *options, int32_t processes,
                                     GError **error);
