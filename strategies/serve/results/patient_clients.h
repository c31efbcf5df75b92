#pragma once
/* What would become of a service's requests if no client gave up. */
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

/* Clients that give up keep a queue short that would grow without end. So where some do, in an open loop without failures,
 * the requests are played again with clients that wait: `overloaded` of the metrics is whether the service is then. The
 * metrics are as they were where nobody gives up, and where the client's time for the run is up. */
void rh_service_judge_patient(RhServiceMetrics *metrics, RhService *service,
                              const RhRequests *requests, const RhClient *client);
