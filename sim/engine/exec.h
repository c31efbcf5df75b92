#pragma once
/* Performs a folded program: counts predecessors down, times kernels, brings members and peers
 * together, and hands bytes to SimGrid. One run per process (the bridge's rule). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/engine/fold.h"
#include "sim/engine/quotient.h"
#include "sim/engine/traffic.h"

typedef struct {
    const RhTraffic *traffic;
    const RhFold *fold;
    const RhQuotient *quotient;
    const RhEngineOptions *options;
} RhExecInput;

/* NULL and RH_ERROR_INTERNAL when tasks remain that nothing can start; names the first. */
RhRun *rh_exec_run(const RhExecInput *input, GError **error);
