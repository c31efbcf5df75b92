#pragma once
/* Runs a search for the changed question of a result. */
#include "cli/inputs/result.h"
#include "strategies/search/memory_budget.h"

#define RH_EXPLAIN_TIE_FRAC 0.002 /* a plan that is better by less is a tie */

/* Finds the best layout for the inputs within the --fix, --limit and --risk of the result's command
 * line; NULL where none fits or is legal. `full`: searches until no other layout can be better by
 * more than a tie; else chooses by lower bounds and among the layouts of the file. Fails with an
 * error of the rehearsals. */
bool rh_explain_replan(const RhInputs *in, const RhResult *result, bool full, RhRehearsal **best,
                       GError **error);
/* Returns the RhNearBatch (near_batch.h) of the best layout by a quick search with the same words,
 * where the objective is time; else an empty array. Caller unrefs. */
GArray *rh_explain_near_batches(const RhInputs *in, const RhResult *result,
                                const RhRehearsal *best);
/* Returns the rehearsed best layouts of a search by lower bounds: RhRehearsal, caller frees with
 * g_ptr_array_unref; an empty array where nothing fits or is legal. NULL: an error of the
 * rehearsals. */
GPtrArray *rh_explain_quickest(const RhInputs *in, const RhResult *result, GError **error);
/* Returns the memory budget of layouts, by the words of the result. */
RhMemoryBudget rh_explain_room(const RhResult *result, const RhProblem *c);
