#pragma once
/* Metrics of a service over time, and of single requests, for charts. */
#include "strategies/serve/results/service_metrics.h"

/* Metrics of an interval of time; NaN: no request in it. */
typedef struct {
    double t_begin_s, t_end_s;
    double arrived_per_s, ended_per_s; /* requests; ended: with their whole answer */
    double waiting, running;           /* mean number of sequences of all replicas */
    double replicas;                   /* mean number of replicas that take requests */
    /* Used fraction of the cache: mean over these replicas, and maximum over replicas and time. */
    double cached_frac, cached_most_frac;
    /* RH_METRIC_TTFT, RH_METRIC_TPOT and RH_METRIC_E2E of served requests that arrived in the
     * interval. */
    double p50_s[RH_METRIC_LAST], p99_s[RH_METRIC_LAST];
} RhMetricsOverTime;

/* Returns at most `most` intervals (RhMetricsOverTime) from the first arrival to the run's end, of
 * equal width except the last, which is 0.5 to 1.5 times as wide; empty: the run recorded no
 * history (RhClient.history). The caller unrefs. */
GArray *rh_served_times(const RhServiceResult *result, int32_t most);

/* Returns the metric of all served requests (double) in ascending order. The caller unrefs. */
GArray *rh_served_values(const RhServiceResult *result, RhMetric metric);

/* Returns the served requests (int32_t) that took longest until their last token, longest first.
 * The caller unrefs. */
GArray *rh_served_slowest(const RhServiceResult *result, int32_t count);
