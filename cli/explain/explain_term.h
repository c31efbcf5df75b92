#pragma once
/* One term of a cost tree in detail: the collectives or kernels behind it, their sizes, the
 * algorithm and why, and the constants with their tags. */
#include "cli/inputs/inputs.h"
#include "sim/engine/engine.h"

/* The term named by `word`: its name, or a part of it; one of 0 s is added where nothing of what it
 * names is in sight. RH_ERROR_USAGE lists the names. */
const RhCost *rh_explain_find(RhCost *costs, const RhProgram *program, const char *word,
                              GError **error);
void rh_explain_term(GString *out, const RhInputs *inputs, const RhRehearsal *r,
                     const RhProgram *program, const RhCost *term);
