#pragma once
/* What a tenth more or less of each constant of the platform and the stack does to a step, who would then
 * win, and from which value on another plan does. */
#include "cli/result.h"
#include "report/answers.h"

/* RhSensitivity, the largest effects first, those without any left out. Steps are bounds (segment
 * graph), scaled to what the result's file holds; the other plans of the file are who could win, and what
 * no longer fits does not. Caller
 * frees. NULL when an input cannot be loaded again. */
GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan, GError **error);
/* `alone`: no other plan could win. */
void rh_explain_append_sensitivity(GString *out, const GArray *effects, bool alone);
