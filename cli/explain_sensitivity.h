#pragma once
/* What a tenth more or less of each constant of the platform does to a step, and who would then win. */
#include "cli/result.h"
#include "report/answers.h"

/* RhSensitivity, the largest effects first, those without any left out. Steps are bounds (segment
 * graph), scaled to what the result's file holds; the other plans of the file are who could win. Caller
 * frees. NULL when an input cannot be loaded again. */
GArray *rh_explain_sensitivity(const RhResult *result, const RhResultPlan *plan, GError **error);
void rh_explain_append_sensitivity(GString *out, const GArray *effects);
