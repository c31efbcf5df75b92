#pragma once
/* Reports --risk and --limit on memory without effect. */
#include "cli/parse/parsed_arguments.h"
#include "strategies/search/memory_budget.h"

/* Prints a note on stderr for each word that leaves the memory budget unchanged: a --limit above a
 * GPU's memory; a --risk where a --limit decides, or where no odds are known. `constraints` holds
 * RhConstraint. */
void rh_inert_limits_tell(const RhArguments *arguments, const RhProblem *c,
                          const GArray *constraints);
