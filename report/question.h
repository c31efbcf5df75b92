#pragma once
/* The question of a report: the part that does not depend on the answer. Everything is borrowed. */
#include "strategies/train/train.h"

typedef struct {
    const char *version;
    const char *const *argv; /* NULL-terminated: arguments that affect the result */
    const RhProblem *c;
    const RhPlatform *hardware; /* the platform without the stack's factors */
    const char *workload_spec, *platform_spec;
    const char *const *sets; /* NULL-ended */
    int64_t seed;
    /* Memory of a GPU that a layout may use to be as safe as requested, and to fit at all
     * (strategies/search/memory_budget.h); 0: not requested. */
    double safe_bytes, most_bytes;
    const struct RhLaunchedBeside
        *launched; /* plans of a launch: report/plan/launch_vs_plan.h; NULL: none */
} RhQuestion;
