#pragma once
/* Figures of a service over time, and of single requests: what pictures of it show. */
#include "strategies/serve/results/service_metrics.h"

/* NaN: of no request in this time. */
typedef struct {
    double t_begin_s, t_end_s;
    double arrived_per_s, ended_per_s; /* requests; ended: with their whole answer */
    double waiting, running;           /* sequences of all replicas, in the mean */
    double replicas;                   /* that take requests, in the mean */
    /* of the cache in use: in the mean of those replicas, of the fullest of all at any time */
    double cached_frac, cached_most_frac;
    /* Of requests that arrived then and were served: of RH_METRIC_TTFT, RH_METRIC_TPOT and RH_METRIC_E2E. */
    double p50_s[RH_METRIC_LAST], p99_s[RH_METRIC_LAST];
} RhMetricsOverTime;

/* RhMetricsOverTime, `most` at most, from the first arrival's on until the run's end, of equal width but for the last, which is
 * half to one and a half times as wide; empty: the run kept no history (RhClient.history). Caller unrefs. */
GArray *rh_served_times(const RhServiceResult *result, int32_t most);

/* double: of the requests served, in ascending order. Caller unrefs. */
GArray *rh_served_values(const RhServiceResult *result, RhMetric metric);

/* int32_t: the requests served that took longest until their last token, longest first. Caller unrefs. */
GArray *rh_served_slowest(const RhServiceResult *result, int32_t count);
