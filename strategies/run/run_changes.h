#pragma once
/* Changes that would pay: the run again with one thing changed, on the same failures. */
#include "strategies/run/run_statistics.h"

typedef struct {
    const char *change;
    double ettr_frac, goodput_frac;
} RhRunChange;

/* Changes that gain anything, the best first: RhRunChange; those that the run's deadline leaves time
 * for. Caller frees. */
GArray *rh_run_changes(const RhTrainingRun *run, const RhRunResult *result);
