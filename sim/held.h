#pragma once
/* What a GPU's fast memory holds over a step as it was performed, by use: the ledger's allocations and
 * frees (sim/ledger.h) in program order, each when its task began or, where one before it in that order began later,
 * then. */
#include "sim/spans.h"

typedef struct {
    double t_s;
    double bytes[RH_MEMORY_LAST]; /* by RhMemoryUse, from t_s on */
} RhMoment;

/* Every moment at which something changed, RhMoment in order of time; two of one time where more was held between
 * changes of that time. The fullest holds what the ledger says. Caller unrefs. */
GArray *rh_moments_new(const RhSpanIndex *spans, int32_t performer);
double rh_moment_sum_bytes(const RhMoment *held);
