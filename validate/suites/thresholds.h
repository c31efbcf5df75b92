#pragma once
/* How good is good enough: the bars of the suites, by group of cases. */
#include "accuracy/validation_suite_results.h"

/* Adds to v->missed every bar that the cases do not meet. A case that could not be performed misses
 * one too. */
void rh_thresholds_judge(RhValidation *v);
