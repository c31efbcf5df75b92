#pragma once
/* Cross-validation of serving predictions: every group (validate/cross/cross_groups.h) is predicted by what
 * the other groups tell.
 *
 * For each group,
 * (a) rules that were chosen on its rows are withheld. One that applies to rows of other groups, too,
 *     is kept where it lessens their mean loss, each group weighing the same (a nested choice);
 * (b) constants of servers that were fitted to its rows are fitted again to rows of the other groups
 *     (validate/serving/served_refit.h). A run whose server nobody else tells is not predicted. The
 *     losses of (a) are of predictions with such constants, too. */
#include "validate/serving/served_row_predict.h"

typedef struct RhServedCross RhServedCross;

/* Names the groups of the runs (RhServedRun), and translates each run anew as its group allows. What
 * the runs then point to is the answer's, which outlives them. */
RhServedCross *rh_served_cross(GArray *runs, RhServedTranslator *t, const RhServedSetups *setups,
                               const RhCasesOptions *options, RhDeadline deadline);
/* Adds notes on what was withheld, kept and fitted again. */
void rh_served_cross_note(const RhServedCross *cross, RhEvaluation *evaluation);
void rh_served_cross_free(RhServedCross *cross);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServedCross, rh_served_cross_free)
