#pragma once
/* Draws a simulated service, and compared deployments, as SVG. Functions return NULL where there is
 * nothing to draw. Caller frees. */
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/results/service_metrics.h"

/* Draws arrivals, queue, replicas, use of the cache and latencies over time. The run must have its
 * history. */
char *rh_report_service_time_svg(const RhServiceResult *result, const RhSlos *slos);
/* Draws the cumulative distribution of a metric over requests, with its levels. */
char *rh_report_service_spread_svg(const RhServiceResult *result, RhMetric metric,
                                   const RhSlos *slos);
/* Draws the slowest requests with their waits and work. */
char *rh_report_service_slowest_svg(const RhServiceResult *result);
/* Draws deployments: requests per second and GPU against time per token (for models without tokens:
 * to the answer). */
char *rh_report_serve_plan_svg(const RhServePlan *plan);
