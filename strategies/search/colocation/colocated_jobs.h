#pragma once
/* Jobs that share a fabric, with a service or without: what each step takes alone, and beside the others. */
#include "sim/engine/multi_job.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/serve/service_beside_jobs.h"

/* One of them. Everything is borrowed; all cases have the same platform. */
typedef struct {
    const char *name;
    const RhProblem *c;
    RhLayout layout;      /* settled */
    const int32_t *nodes; /* where its first, second, ... node is */
    int32_t nodes_count;
    double t_start_s;
    int32_t steps;
} RhColocatedJob;

typedef struct {
    RhRehearsal *alone, *beside; /* owned */
    double worst_step_s;         /* of the steps that count, beside */
    int32_t performed;           /* steps that ended, counted or not */
} RhColocatedJobAnswer;

typedef struct {
    GArray *jobs;  /* RhColocatedJobAnswer */
    GArray *links; /* RhSessionLink: where they met; the service is the last */
    RhServiceResult *service_alone, *service_beside; /* owned; NULL without a service */
    double t_end_s;
    RhMultiJobRun *raw; /* owns the links */
} RhColocatedJobs;
void rh_colocated_jobs_free(RhColocatedJobs *neighbourhood);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhColocatedJobs, rh_colocated_jobs_free)

/* `service` may be NULL. Fails like rh_rehearse, rh_service_run, and with RH_ERROR_INPUT when two jobs want one GPU at once. */
RhColocatedJobs *rh_colocated_jobs_rehearse(const RhColocatedJob *jobs, int32_t count,
                                            const RhBackgroundService *service,
                                            const RhEngineOptions *options, int32_t processes,
                                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
