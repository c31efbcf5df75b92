#pragma once
/* Parts of the text of a plan. Private to report/. */
#include "report/report.h"
#include "strategies/search/plan.h"

#define RH_TEXT_BOLD(style)  ((style)->colored ? "\033[1m" : "")
#define RH_TEXT_PLAIN(style) ((style)->colored ? "\033[0m" : "")

/* Appends the rows of a plan and the notes below them. */
void rh_report_append_plan_table(GString *out, const RhPlan *plan, const RhPlanOptions *options);
/* Return the fraction of the best step time saved by the fastest layout with a higher memory risk,
 * and whether that is worth a row. */
double rh_report_fuller_gain(const RhPlan *plan);
bool rh_report_fuller_is_row(const RhPlan *plan);
/* Appends the whole answer of a plan without rows. */
void rh_report_append_no_plan(GString *out, const RhQuestion *q, const RhPlan *plan,
                              const RhPlanOptions *options, const RhReportStyle *style);
void rh_report_append_near_misses(GString *out, const RhPlan *plan, guint most);
/* Returns the bytes of a GPU that ranked layouts leave free, so that they fit surely enough; 0: none. */
double rh_report_margin_bytes(const RhPlan *plan);
/* Appends "label: text", wrapped with an indent of the label's width. */
void rh_report_append_labelled(GString *out, const char *label, const char *text);
