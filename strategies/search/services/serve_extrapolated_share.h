#pragma once
/* Extrapolation of a service: the share of its kernels outside of the measured tables. Its error
 * bar is that of services whose kernels mostly lie inside. */
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

typedef struct {
    RhExtrapolated kinds[RH_CALIBRATED_RANGE_LAST]; /* shares of the kernels' time */
    double untabled_frac;                           /* of it, experts of which there is no table */
    const char *device;                             /* interned */
} RhServeExtrapolation;

/* Returns the fraction of the kernels' time that is of experts without a table, for a prompt of
 * 1,024 tokens and an answer as long beside 31 others. */
double rh_served_untabled_frac(RhIterations *it);
/* Returns the extrapolation for the mean request: its prompt, chunk by chunk, and its answer beside
 * the mean number of other sequences. Empty for a service that completed no request or makes no
 * tokens. */
RhServeExtrapolation rh_serve_extrapolation(const RhServing *serving,
                                            const RhDeployment *deployment,
                                            const RhServiceMetrics *outcome);
