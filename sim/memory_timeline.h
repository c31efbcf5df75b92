#pragma once
/* What a GPU's fast memory holds over a step as it was performed, by use: the ledger's allocations and
 * frees (sim/ledger.h) in program order, each when its task began or, where one before it in that order began later,
 * then. */
#include "sim/task_intervals.h"

typedef struct {
    double t_s;
    double bytes[RH_MEMORY_LAST]; /* by RhMemoryUse, from t_s on */
} RhMemorySample;

/* Every moment at which something changed, RhMemorySample in order of time; two of one time where more was held between
 * changes of that time. The fullest holds what the ledger says. Caller unrefs. */
GArray *rh_memory_timeline_new(const RhTaskIntervals *spans, int32_t performer);
double rh_memory_sample_bytes(const RhMemorySample *held);
