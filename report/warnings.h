#pragma once
/* What of an answer is to be watched: each has a kind, a word that stays, and a sentence. Texts print them as
 * `watch:` lines, JSON as the list "watch". */
#include "report/report.h"
#include "strategies/search/services/serve_extrapolation.h"

typedef struct {
    /* "memory", "framework", "positions", "format", "extrapolated", "untabled", "mfu", "waiting" or "unsteady" */
    const char *kind;
    char *text;
} RhWarning;

/* Of one rehearsed layout, and of the best of a plan: RhWarning, caller frees. A plan without layouts has
 * none. */
GPtrArray *rh_report_run_warnings(const RhQuestion *q, const RhRehearsal *r);
GPtrArray *rh_report_plan_warnings(const RhQuestion *q, const RhPlan *plan,
                                   const RhPlanOptions *options);
/* Of a service: the formats of its model, kernels beyond what was measured (NULL: not known), and too few requests for a
 * rate (of `outcome`; NULL: nothing is said of them). `found`: at a rate that was looked for; `drawn`: and more can
 * be. */
GPtrArray *rh_report_service_warnings(const RhProblem *c, const RhServeExtrapolation *beyond,
                                      const RhServiceMetrics *outcome, bool found, bool drawn);

/* A line each. */
void rh_report_warnings_text(GString *out, const GPtrArray *watches);
void rh_report_warnings_markdown(GString *out, const GPtrArray *watches);
