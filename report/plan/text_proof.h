#pragma once
/* What the text of a plan says of its proof: what no layout left out can be better by, what the proof is not
 * of, or why there is none. */
#include "strategies/search/plan.h"

/* Appends a sentence without its end to `text`. */
void rh_report_append_proof(GString *text, const RhPlan *plan, const RhPlanOptions *options);
