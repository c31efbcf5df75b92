#pragma once
/* A service beside jobs on one fabric (sim/engine/multi_job.h): its keys and values, and what
 * servers on several nodes exchange, cross links that carry their gradients, too.
 *
 * Every GPU of the first pool has a way to one GPU of each replica of the second, and ranks of a
 * server have theirs to one another (replica_internode_flows.h); all ways are a program of sends,
 * admitted beside the jobs' programs and never submitted, so that the fold tells apart what the
 * service's traffic tells apart. When a prompt is read, its keys and values leave as messages,
 * and so do the flows of an iteration's parts. */
#include "sim/engine/multi_job.h"
#include "strategies/serve/service/service.h"

/* Everything is borrowed. */
typedef struct {
    const char *name;
    RhServing serving;
    RhDeployment deployment;
    const RhRequests *requests;
    RhClient client;
    const RhPlatform *fabric; /* the session's */
    const int32_t *nodes;     /* where its first, second, ... node is */
    int32_t nodes_count;
    double t_start_s; /* its clock's 0, on the session's */
} RhBackgroundService;

/* RH_ERROR_INPUT: other nodes than the deployment needs. */
bool rh_background_service_check(const RhBackgroundService *background,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* For rh_multi_job_rehearse; borrows the background. */
RhMultiJobService rh_background_service(const RhBackgroundService *background);
/* Returns the result in its answer, which the caller frees; NULL: the service stopped early. */
RhServiceResult *rh_background_service_answer(const GByteArray *answer);
