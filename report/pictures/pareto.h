#pragma once
/* Draws time against memory of the rehearsed layouts of a search as SVG: ranked ones with their
 * numbers, others as dots, those that do not fit beyond the line. */
#include "strategies/search/plan.h"

typedef struct {
    RhLayout layout;
    double step_s, peak_bytes;
} RhParetoPoint;

/* Callback for RhPlanOptions.seen: appends the layout to `user`, a GArray of RhParetoPoint. */
void rh_pareto_see(const RhRehearsal *rehearsal, void *user);
/* Returns the picture; `seen` may contain the plan's own entries. Caller frees. */
char *rh_report_pareto_svg(const RhPlan *plan, const GArray *seen);
