#pragma once
/* What a GPU's fast memory holds over a step as it was performed, by use: the ledger's allocations and
 * frees (sim/ledger.h), each at the time its task began. */
#include "sim/spans.h"

typedef struct {
    double t_s;
    double bytes[RH_MEMORY_LAST]; /* by RhMemoryUse, from t_s on */
} RhMoment;

/* Every moment at which something changed, RhMoment in order of time. Caller unrefs. */
GArray *rh_moments_new(const RhSpanIndex *spans, int32_t performer);
double rh_moment_sum_bytes(const RhMoment *held);
