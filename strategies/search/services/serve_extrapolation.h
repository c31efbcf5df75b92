#pragma once
/* What of a service's kernels lies beyond what its tables were measured for: its error bar is that of services whose
 * kernels mostly do not. */
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"

typedef struct {
    RhExtrapolated kinds[RH_CALIBRATED_RANGE_LAST]; /* shares of the kernels' time */
    double untabled_frac;                           /* of it, experts of which there is no table */
    const char *device;                             /* interned */
} RhServeExtrapolation;

/* Of its mean request: its prompt, chunk by chunk, and its answer among the mean number of others. Nothing of a service
 * that answered nobody, or makes no tokens. */
RhServeExtrapolation rh_serve_extrapolation(const RhServing *serving,
                                            const RhDeployment *deployment,
                                            const RhServiceMetrics *outcome);
