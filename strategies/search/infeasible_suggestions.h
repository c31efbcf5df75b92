#pragma once
/* Suggestions for problems without a legal or fitting layout. Private to this folder. */
#include "strategies/search/plan.h"

/* "needs 83.7 GiB, 4.1 over; stage 0 holds 41 GiB of activations". Caller frees. */
char *rh_suggest_memory_reason(const RhTrainMemory *memory, double limit_bytes);
/* No layout is legal: says which constraint or division forbids it. RH_ERROR_USAGE. */
void rh_suggest_no_layout(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                          GError **error);
/* Nothing fits: fills plan->changes, fewest doublings of a number of the question first (a --fix or
 * --limit given up counts as none), and plan->states. At the deadline it stops with what it
 * has and sets plan->timed_out. */
void rh_suggest_smallest_change(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                                RhPlan *plan);
void rh_suggest_change_free(void *change);
