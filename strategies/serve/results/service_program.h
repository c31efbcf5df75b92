#pragma once
/* What a service did, as a program (sim/program.h): the iterations of its servers in their order, each as a wait
 * for what is no exchange (sums by a server's own kernels inside a node are none) and the collectives of its layers; keys and values as messages; requests that an idle
 * server waited for as waits. Who was scheduled when is fixed; how long that takes on shared links is for whoever
 * performs it: the rehearsal, or MPI. */
#include "sim/program.h"
#include "strategies/serve/service/service.h"

#define RH_SERVICE_TASKS_MAX 1000000

/* Returns the program of a result whose works are single iterations (RhClient.timeline,
 * each_iteration); the caller frees it. RH_ERROR_USAGE: servers of several stages, whose batches
 * overlap; models that make no tokens; exchanges by a server's own kernels; more than
 * RH_SERVICE_TASKS_MAX tasks. */
RhProgram *rh_service_program(RhService *service, const RhServing *serving,
                              const RhDeployment *deployment, const RhServiceResult *result,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
