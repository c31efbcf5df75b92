#pragma once
/* --risk and --limit on memory: told where they ask for what they cannot change. */
#include "cli/parse/arguments.h"
#include "strategies/search/memory_budget.h"

/* One note on stderr for each word that leaves the room for layouts as it is without it: a --limit of more than a GPU
 * has; a --risk where a --limit decides, or where no odds are known. `constraints`
 * holds RhConstraint. */
void rh_inert_limits_tell(const RhArguments *arguments, const RhProblem *c,
                          const GArray *constraints);
