#pragma once
/* Overload test with clients that never give up. */
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

/* Sets `overloaded` of the metrics from a second run with patient clients, because clients that
 * give up keep a queue short that would grow without bound. Applies to open loops without failures
 * in which clients gave up; otherwise, or if the client's time limit has passed, the metrics stay
 * unchanged. */
void rh_service_judge_patient(RhServiceMetrics *metrics, RhService *service,
                              const RhRequests *requests, const RhClient *client);
