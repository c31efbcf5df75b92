#pragma once
/* Rehearses several jobs on one fabric, each alone and all together, in separate processes.
 *
 * Together, every job repeats its step until the last of them has done its required steps, so that
 * none runs on a fabric that is emptier than it should be; additional steps are simulated and not
 * counted. */
#include "sim/engine/session.h"

typedef struct {
    const char *name;
    double t_start_s;
    int32_t steps; /* steps to count, at least 1 */
} RhMultiJobPart;

/* A service that is simulated beside the jobs, or alone: it sends messages (session.h) and returns
 * its results as bytes. All of it runs in a child. */
typedef struct RhJobSimulation RhJobSimulation;
typedef struct {
    /* Makes the program of its routes, placed by its gpu_of_rank; messages use its sends. */
    RhProgram *(*ways)(void *user, GError **error);
    /* Runs the service to its end and returns its results; NULL and an error. */
    GByteArray *(*play)(RhJobSimulation *stage, void *user, GError **error);
    void *user;
} RhMultiJobService;
/* Sends one of the service's messages now; `job` is filled in. */
bool rh_job_stage_post(RhJobSimulation *stage, RhSessionMessage message,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs until a message has arrived, or until_s (an event of kind NONE); the jobs' steps in the
 * meantime are counted. */
bool rh_job_stage_run(RhJobSimulation *stage, double until_s, RhSessionEvent *event,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;

typedef struct {
    const RhMultiJobPart *jobs;
    int32_t count;
    /* Makes program `job`, placed by its gpu_of_rank; called in a child. */
    RhProgram *(*build)(int32_t job, void *user, GError **error);
    void *user;
    const RhMultiJobService *background; /* NULL: none */
} RhMultiJobQuestion;

typedef struct {
    RhRun *alone, *beside; /* owned; over the counted steps */
    GArray *step_times;    /* double: their times beside the other jobs; owned */
    int32_t performed;     /* finished steps, counted or not */
} RhMultiJobResult;

typedef struct {
    GArray *parts; /* RhMultiJobResult */
    GArray *links; /* RhSessionLink with flows of several jobs; the service is the last job */
    GByteArray *background_alone, *background_beside; /* results of the service; NULL without one */
    double t_end_s;
} RhMultiJobRun;
void rh_multi_job_free(RhMultiJobRun *together);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMultiJobRun, rh_multi_job_free)

/* Runs all rehearsals, `processes` at once. Fails like rh_session_admit and rh_rehearse_isolated.
 */
RhMultiJobRun *rh_multi_job_rehearse(const RhMultiJobQuestion *ask, const RhPlatform *platform,
                                     const RhEngineOptions *options, int32_t processes,
                                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
