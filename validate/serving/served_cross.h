#pragma once
/* Cross-validation of serving predictions: every group (validate/cross/cross_groups.h) is predicted by what
 * the other groups tell.
 *
 * For each group,
 * (a) rules that were chosen on its rows are withheld. One that applies to rows of other groups, too,
 *     is kept where it lessens their mean loss, each group weighing the same (a nested choice);
 * (b) constants of servers that were fitted to its rows are fitted again to rows of the other groups:
 *     those of the same server, or of all servers of its engine where there are fewer than
 *     ROWS_LEAST: up to ROWS_OF_GROUP of each group in the order of the file, until there are
 *     ROWS_MOST, each of these groups weighing the same. The descent begins at the same values
 *     whatever the server's file has. A run whose server nobody else tells is not predicted.
 *     Constants that rh_served_constant_kinds does not list, as those of memory, stay. */
#include "validate/serving/served_run.h"

typedef struct RhServedCross RhServedCross;

/* Names the groups of the runs (RhServedRun), and translates each run anew as its group allows. What
 * the runs then point to is the answer's, which outlives them. */
RhServedCross *rh_served_cross(GArray *runs, RhServedTranslator *t, GHashTable *originals,
                               const RhCasesOptions *options, RhDeadline deadline);
/* Adds notes on what was withheld, kept and fitted again. */
void rh_served_cross_note(const RhServedCross *cross, RhEvaluation *evaluation);
void rh_served_cross_free(RhServedCross *cross);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServedCross, rh_served_cross_free)
