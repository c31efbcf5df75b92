#pragma once
/* Prints the answer to --sensitivity. */
#include "cli/inputs/inputs.h"
#include "report/json/explain_and_compare_json.h"

void rh_explain_append_sensitivity(GString *out, const RhInputs *in, RhObjective objective,
                                   const GArray *effects, const GArray *rivals);
