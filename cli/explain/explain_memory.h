#pragma once
/* The memory of a layout in detail: what each stage holds when it is fullest and when that is, what makes
 * it so much, and what would lower it. */
#include "cli/inputs/inputs.h"
#include "report/answers.h"

/* Is it memory that --term asks for? */
bool rh_explain_is_memory(const char *word);
/* Caller frees. */
RhMemoryAnswer *rh_explain_memory(const RhInputs *inputs, const RhRehearsal *r,
                                  const RhProgram *program);
void rh_explain_append_memory(GString *out, const RhInputs *inputs, const RhRehearsal *r,
                              const RhMemoryAnswer *answer);
