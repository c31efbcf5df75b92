#pragma once
/* Runs a search for the changed question of a result. */
#include "cli/inputs/result.h"
#include "strategies/search/memory_budget.h"

#define RH_EXPLAIN_TIE_FRAC 0.002 /* a plan that is better by less is a tie */

/* The best layout for the inputs, within the --fix, --limit and --risk that the result's command line has;
 * NULL where none fits or is legal. `full`: searched until nothing left is better by more than a tie; else chosen
 * by lower bounds, and of the layouts of the file. An error is one of the rehearsals. */
bool rh_explain_replan(const RhInputs *in, const RhResult *result, bool full, RhRehearsal **best,
                       GError **error);
/* RhNearBatch (near_batch.h) beside the best for the inputs, searched by the same words and quickly, where steps are to be
 * short; else none. Caller unrefs. */
GArray *rh_explain_near_batches(const RhInputs *in, const RhResult *result,
                                const RhRehearsal *best);
/* The best few of a search by lower bounds that were rehearsed: RhRehearsal, caller frees with
 * g_ptr_array_unref; none where nothing fits or is legal. NULL: an error of the rehearsals. */
GPtrArray *rh_explain_quickest(const RhInputs *in, const RhResult *result, GError **error);
/* Returns the memory budget of layouts, by the words of the result. */
RhMemoryBudget rh_explain_room(const RhResult *result, const RhProblem *c);
