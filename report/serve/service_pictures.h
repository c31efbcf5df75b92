#pragma once
/* Pictures of a service that was played, and of deployments that were compared, as SVG. Caller frees; NULL: there is
 * nothing to draw. */
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/results/service_metrics.h"

/* Arrivals, queue, replicas, use of the cache and latencies over time. Needs a run that kept its history. */
char *rh_report_service_time_svg(const RhServiceResult *result, const RhSlos *slos);
/* How many of the requests are within a time, with the levels of the metric. */
char *rh_report_service_spread_svg(const RhServiceResult *result, RhMetric metric,
                                   const RhSlos *slos);
/* The slowest requests, what each waited for and what was done for it. */
char *rh_report_service_slowest_svg(const RhServiceResult *result);
/* Deployments, requests a second of a GPU against time per token (of models without tokens: to the answer). */
char *rh_report_serve_plan_svg(const RhServePlan *plan);
