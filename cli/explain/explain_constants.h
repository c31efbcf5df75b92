#pragma once
/* The constants that a step could depend on: of the platform and its devices, as the stack has them; and of
 * the stack. Each may be another one in a copy of the case. */
#include "cli/inputs/inputs.h"

typedef struct {
    char *set; /* its path in --set, behind whose it is: "platform.nic.latency"; owned */
    RhQuantity kind;
    const RhRange *range;
    RhFact fact; /* as it counts now */
} RhConstant;

/* GArray of RhConstant; those that are not known, or 0, are left out. Caller unrefs. */
GArray *rh_explain_constants(const RhInputs *in);

/* The case with one constant changed, and what it is made of. */
typedef struct {
    RhPlatform *hardware, *seen; /* as described, and as the stack sees it; owned */
    RhStack stack;
    RhProblem c;
} RhChangedCase;

/* False where the constant may not be so. To be cleared in either case, and not to be moved before. */
bool rh_explain_change(const RhInputs *in, const RhConstant *constant, double value,
                       RhChangedCase *out);
void rh_changed_case_clear(RhChangedCase *changed);
