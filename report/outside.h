#pragma once
/* The knobs that no search goes through unasked (strategies/search/unsearched.h), as text and JSON. */
#include "base/json.h"
#include "strategies/search/plan.h"

/* "not tried: ...", and "also: ...: changes the numerics". */
void rh_report_outside(GString *out, const RhPlan *plan);
void rh_report_outside_markdown(GString *out, const RhPlan *plan);
/* The list "not_tried". */
void rh_put_outside(RhJsonWriter *w, const RhPlan *plan);
