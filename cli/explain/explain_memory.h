#pragma once
/* Prints the memory of a layout: the contents of each stage at its peak, the time of the peak, its
 * causes, and what would lower it. */
#include "cli/inputs/inputs.h"
#include "report/json/explain_and_compare_json.h"

/* Returns whether --term asks for memory. */
bool rh_explain_is_memory(const char *word);
void rh_explain_append_memory(GString *out, const RhInputs *inputs, const RhRehearsal *r,
                              const RhMemoryAnswer *answer);
