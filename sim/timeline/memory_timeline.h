#pragma once
/* Memory in use on a GPU over a simulated step, by use: the ledger's allocations and frees
 * (sim/memory_ledger.h) in program order. Each takes effect when its task begins, but not before the ones
 * that precede it in program order. */
#include "sim/timeline/timeline_index.h"

typedef struct {
    double t_s;
    double bytes[RH_MEMORY_LAST]; /* by RhMemoryUse, from t_s on */
} RhMemorySample;

/* Returns the samples of a performer, RhMemorySample in order of time: one for every time at which
 * memory changes, and a second one of the same time when more was in use between the changes of
 * that time. The largest sample equals the ledger's peak. Caller unrefs. */
GArray *rh_memory_timeline_new(const RhTaskIntervals *spans, int32_t performer);
double rh_memory_sample_bytes(const RhMemorySample *held);
