#pragma once
/* Memory ledger: walks a role's allocations and frees on one tier in program order, as a caching
 * allocator would see them. */
#include "sim/program.h"

typedef struct {
    double peak_bytes;
    int32_t peak_task; /* first task before which the peak is reached; -1: at the start */
    double at_peak_bytes[RH_MEMORY_LAST]; /* by use, at the peak; sums to peak_bytes */
    double end_bytes; /* still allocated at the end of the step: the static part, and any leak */
} RhLedger;

RhLedger rh_ledger_walk(const RhProgram *p, int32_t role, RhMemoryTier tier);
