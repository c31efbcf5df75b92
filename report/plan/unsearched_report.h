#pragma once
/* Reports the knobs that a search does not vary by default (strategies/search/unsearched_changes.h), as
 * text and JSON. */
#include "base/json/json.h"
#include "strategies/search/plan.h"

/* "not searched: ...", and "other number formats, ...". `verbose` adds what cannot run, and reasons. */
void rh_report_unsearched(GString *out, const RhPlan *plan, bool verbose);
void rh_report_unsearched_markdown(GString *out, const RhPlan *plan);
/* The list "not_tried". */
void rh_put_unsearched(RhJsonWriter *w, const RhPlan *plan);
