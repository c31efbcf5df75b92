#pragma once
/* Constants that a step can depend on: those of the platform and its devices as the stack sees
 * them, and of the stack. Each can be changed in a copy of the problem. */
#include "cli/inputs/inputs.h"

typedef struct {
    char *set; /* its path in --set after its owner: "platform.nic.latency"; owned */
    RhQuantity kind;
    const RhRange *range;
    RhFact fact; /* current value */
} RhConstant;

/* Returns a GArray of RhConstant without unknown ones and zeros. Caller unrefs. */
GArray *rh_explain_constants(const RhInputs *in);

/* A problem with one constant changed, and its parts. */
typedef struct {
    RhPlatform *hardware, *seen; /* as described, and as the stack sees it; owned */
    RhStack stack;
    RhProblem c;
} RhChangedCase;

/* Changes a constant; returns false where the value is not allowed. Clear *out in either case, and
 * do not move it before. */
bool rh_explain_change(const RhInputs *in, const RhConstant *constant, double value,
                       RhChangedCase *out);
void rh_changed_case_clear(RhChangedCase *changed);
