#pragma once
/* Parts of the text of a plan. Private to report/. */
#include "report/report.h"
#include "strategies/search/plan.h"

#define RH_TEXT_BOLD(style)  ((style)->colored ? "\033[1m" : "")
#define RH_TEXT_PLAIN(style) ((style)->colored ? "\033[0m" : "")

/* Rows and what is to be said below them. */
void rh_report_append_plan_table(GString *out, const RhPlan *plan, const RhPlanOptions *options);
/* The share of the best's time that the quickest layout that is less sure to fit saves; and whether it is worth a row. */
double rh_report_fuller_gain(const RhPlan *plan);
bool rh_report_fuller_is_row(const RhPlan *plan);
/* The whole answer where there are no rows. */
void rh_report_append_no_plan(GString *out, const RhQuestion *q, const RhPlan *plan,
                              const RhPlanOptions *options, const RhReportStyle *style);
void rh_report_append_near_misses(GString *out, const RhPlan *plan, guint most);
/* "label: text", wrapped behind the label. */
void rh_report_append_labelled(GString *out, const char *label, const char *text);
