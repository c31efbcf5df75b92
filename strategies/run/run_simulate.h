#pragma once
/* One replication of a run, from event to event: compute and checkpoint in closed form until something
 * fails, then undetected, waiting, restarting. */
#include "strategies/run/run_state.h"

typedef struct {
    double time_s;                     /* of the whole run */
    double spent_s[RH_RUN_TIMES_LAST]; /* sums to it */
    int64_t failures_count;
    bool cut;   /* the run's deadline passed before its end */
    bool stuck; /* it was given up: no progress in a hundred times its work */
} RhRunOutcome;

/* `every_s` is the work between two checkpoints. */
RhRunOutcome rh_run_simulate(const RhTrainingRun *run, double every_s, int32_t replication);
