#pragma once
/* Prints one term of a cost tree: the collectives or kernels behind it, their sizes, the
 * algorithm and its reason, and the constants with their tags. */
#include "cli/inputs/inputs.h"
#include "sim/engine/engine.h"

void rh_explain_term(GString *out, const RhInputs *inputs, const RhRehearsal *r,
                     const RhProgram *program, const RhCost *term, bool brief);
