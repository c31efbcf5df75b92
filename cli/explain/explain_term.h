#pragma once
/* Explains one term of a cost tree: the collectives or kernels behind it, their sizes, the
 * algorithm and its reason, and the constants with their tags. */
#include "cli/inputs/inputs.h"
#include "sim/engine/engine.h"

/* Finds a term by its name or a part of it; a known term that the tree lacks is added with 0 s.
 * RH_ERROR_USAGE lists the names. */
const RhCost *rh_explain_find(RhCost *costs, const RhProgram *program, const char *word,
                              GError **error);
void rh_explain_term(GString *out, const RhInputs *inputs, const RhRehearsal *r,
                     const RhProgram *program, const RhCost *term);
