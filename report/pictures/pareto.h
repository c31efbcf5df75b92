#pragma once
/* Time against memory of the layouts that a search rehearsed, as SVG: those it ranks with their numbers, the
 * others as dots, what would not fit beyond the line. */
#include "strategies/search/plan.h"

typedef struct {
    RhLayout layout;
    double step_s, peak_bytes;
} RhParetoPoint;

/* Keeps what RhPlanOptions.seen tells; `user` is a GArray of RhParetoPoint. */
void rh_pareto_see(const RhRehearsal *rehearsal, void *user);
/* `seen` may hold the plan's own entries. Caller frees. */
char *rh_report_pareto_svg(const RhPlan *plan, const GArray *seen);
