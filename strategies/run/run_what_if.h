#pragma once
/* Changes of a run, one at a time and on the same failures: which would pay, by how much, and what it costs. */
#include "strategies/run/run_statistics.h"

typedef struct {
    const char *kind;   /* "policy", "interval", "spares", "storage" ... */
    const char *change; /* "failures detected in 1 min" */
    const char *cost;   /* what it takes, beside the GPU-hours below */
    double ettr_frac, goodput_frac, time_s;
    double node_s;         /* that nodes are held, idle spares too */
    double storage_times;  /* by which storage would be faster; 0: as it is */
    bool copies_in_memory; /* a second and a third copy of the states lie in the memory of hosts */
} RhRunChange;

/* Changes that gain anything, the best first: RhRunChange; those that the run's deadline leaves time
 * for. Caller frees. */
GArray *rh_run_changes(const RhTrainingRun *run, const RhRunResult *result);
/* All changes that apply to the run, whatever they gain, in the order of their kinds. Caller frees. */
GArray *rh_run_changes_all(const RhTrainingRun *run, const RhRunResult *result);
