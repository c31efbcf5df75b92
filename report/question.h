#pragma once
/* What was asked: the part of a report that does not depend on the answer. Everything is borrowed.
 */
#include "strategies/train/train.h"

typedef struct {
    const char *version;
    const char *const *argv; /* NULL-ended: the words that decide the result */
    const RhProblem *c;
    const RhPlatform *hardware; /* the platform without the stack's factors */
    const char *workload_spec, *platform_spec;
    const char *const *sets; /* NULL-ended */
    int64_t seed;
    /* of a GPU's memory, what a layout may need to be as safe as asked for, and to fit at all
     * (strategies/search/memory_budget.h); 0: not asked */
    double safe_bytes, most_bytes;
} RhQuestion;
