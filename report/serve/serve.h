#pragma once
/* What became of the requests of a service, as text, JSON and CSV. Every function returns a text the
 * caller frees. Words are defined in docs/theory/serving.md. */
#include "report/report.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/search/services/serve_extrapolation.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"
#include "workloads/requests.h"

/* What a service was asked; all borrowed. */
typedef struct {
    const RhQuestion *q;    /* model, platform, words of the command line */
    const char *deployment; /* as text, all that is not a default */
    const char *requests;   /* "conv.csv.gz", or the lengths as they were given */
    const char *arrivals;   /* "Poisson, 5/s", "as recorded", "64 at a time" */
    const RhRequests *list;
    const RhSlos *slos;
    const RhClient *client;          /* when it gives up; NULL: never */
    const RhServiceResult *unharmed; /* the same without failures; NULL: there are none */
    const char *const
        *words; /* of a plan: what serve-simulate takes of the command line; NULL-ended */
    const RhServeExtrapolation *beyond; /* of a plan the best's; NULL: nothing is said of it */
    const RhServeErrorBars
        *trust; /* how far off it may be, of a plan the best; NULL: nothing is said of it */
} RhServeQuestion;

char *rh_report_serve_text(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome, const RhReportStyle *style);
char *rh_report_serve_json(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome);
/* Nothing was played, and why. */
char *rh_report_serve_unanswered_json(const RhServeQuestion *question, bool timed_out,
                                      const char *why);
/* A row per request, in the order of the list. */
char *rh_report_serve_csv(const RhServeQuestion *question, const RhServiceResult *result);

/* Chrome trace JSON of a result with works. RH_ERROR_INPUT: more than 2,000,000 events. */
char *rh_report_serve_trace(const RhServiceResult *result, GError **error);

/* `question->deployment` is not looked at. */
char *rh_report_serve_plan_text(const RhServeQuestion *question, const RhServePlan *plan,
                                const RhServePlanOptions *options, int32_t top,
                                const RhReportStyle *style);
char *rh_report_serve_plan_json(const RhServeQuestion *question, const RhServePlan *plan,
                                const RhServePlanOptions *options, int32_t top);
char *rh_report_serve_plan_csv(const RhServePlan *plan);
typedef struct {
    const char *name;   /* for its server: a path, or a name that it loads by */
    const char *recipe; /* its numbers (workloads/recipe.h) */
} RhLaunchedModel;
/* A command for each pool; NULL: none is known of this server. */
char *rh_report_serve_launch(const RhDeployment *deployment, const RhLaunchedModel *model);
