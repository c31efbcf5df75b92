#pragma once
/* How much of a GPU's memory a layout may fill: the one place that decides it. */
#include "strategies/search/plan.h"

typedef struct {
    double ranked_bytes; /* what is ranked needs at most this */
    double most_bytes;   /* what fits at all: the device's memory, or less by the user's limit */
} RhMemoryBudget;

/* Ranked is what a --limit says; else what is at most that likely to run out of memory, by measured
 * runs (accuracy/error_bar_record.h), or all that fits where none are known. */
RhMemoryBudget rh_memory_budget(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                                double risk);
