#pragma once
/* Constants that a step can depend on: those of the platform and its devices as the stack sees
 * them, and of the stack. Each can be changed in a copy of the problem. */
#include "strategies/training_problem.h"

typedef struct {
    char *set; /* its path in --set after its owner: "platform.nic.latency"; owned */
    RhQuantity kind;
    const RhRange *range;
    RhFact fact; /* current value */
} RhConstant;

/* Returns a GArray of RhConstant without unknown ones and zeros. `hardware` is the platform as
 * described, without what the stack changes. Caller unrefs. */
GArray *rh_problem_constants(const RhProblem *c, const RhPlatform *hardware);

/* A problem with one constant changed, and its parts. */
typedef struct {
    RhPlatform *hardware, *seen; /* as described, and as the stack sees it; owned */
    RhStack stack;
    RhProblem c;
} RhChangedProblem;

/* Changes a constant; returns false where the value is not allowed. Clear *out in either case, and
 * do not move it before. */
bool rh_problem_change(const RhProblem *c, const RhPlatform *hardware, const RhConstant *constant,
                       double value, RhChangedProblem *out);
void rh_changed_problem_clear(RhChangedProblem *changed);
