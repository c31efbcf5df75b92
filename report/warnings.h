#pragma once
/* Warnings about an answer: each has a kind, a fixed word, and a sentence. Texts print them as
 * `watch:` lines, JSON as the list "watch". */
#include "report/report.h"
#include "strategies/search/services/serve_extrapolated_share.h"

typedef struct {
    /* "memory", "framework", "positions", "format", "extrapolated", "untabled", "mfu", "waiting" or "unsteady" */
    const char *kind;
    char *text;
} RhWarning;

/* Return the RhWarnings of one rehearsed layout, and of the best of a plan; none for a plan without
 * layouts. Caller frees. */
GPtrArray *rh_report_run_warnings(const RhQuestion *q, const RhRehearsal *r);
GPtrArray *rh_report_plan_warnings(const RhQuestion *q, const RhPlan *plan,
                                   const RhPlanOptions *options);
/* Returns the RhWarnings of a service: formats of its model, kernels outside calibrated ranges
 * (NULL: unknown), and too few requests for a rate (`outcome` NULL: not checked). `found`: at a
 * rate from a search; `drawn`: more requests can be drawn. */
GPtrArray *rh_report_service_warnings(const RhProblem *c, const RhServeExtrapolation *beyond,
                                      const RhServiceMetrics *outcome, bool found, bool drawn);

/* Append a line for each warning. */
void rh_report_warnings_text(GString *out, const GPtrArray *watches);
void rh_report_warnings_markdown(GString *out, const GPtrArray *watches);
