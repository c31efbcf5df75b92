#pragma once
/* Reports the results of a service's requests as text, JSON and CSV. Every function returns a text
 * the caller frees. Terms are defined in docs/theory/serving.md. */
#include "report/report.h"
#include "report/serve/service_kv_capacity.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/search/services/serve_extrapolated_share.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/search/services/servers_per_hour.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"
#include "workloads/requests/requests.h"

/* The question of a service report; all borrowed. */
typedef struct {
    const RhQuestion *q;    /* model, platform, words of the command line */
    const char *deployment; /* as text, without defaults */
    const char *requests;   /* "conv.csv.gz", or the given lengths */
    const char *arrivals;   /* "Poisson, 5/s", "as recorded", "64 at a time" */
    const RhRequests *list;
    const RhSlos *slos;
    const RhClient *client;             /* timeouts of clients; NULL: none */
    const RhServiceResult *unharmed;    /* result without failures; NULL: there are no failures */
    const char *const *words;           /* plans: arguments for serve-simulate; NULL-terminated */
    const RhServeExtrapolation *beyond; /* plans: for the best deployment; NULL: none */
    const RhServeDay *day;              /* plans: servers over a day; NULL: one rate */
    const RhServedCacheList *caches;    /* plans: of the best deployment; NULL: not known */
    const RhServeErrorBars *trust; /* error bars, for plans of the best deployment; NULL: none */
    const RhServer *server;        /* whose constants an answer names; NULL: they are not named */
} RhServeQuestion;

char *rh_report_serve_text(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome, const RhReportStyle *style);
char *rh_report_serve_json(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome);
/* Formats a document without a simulation, with the reason. */
char *rh_report_serve_unanswered_json(const RhServeQuestion *question, bool timed_out,
                                      const char *why);
/* Formats a row per request, in the order of the list. */
char *rh_report_serve_csv(const RhServeQuestion *question, const RhServiceResult *result);

/* Formats a result with recorded work as Chrome trace JSON. RH_ERROR_INPUT: more than 2,000,000
 * events. */
char *rh_report_serve_trace(const RhServiceResult *result,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Formats a plan; `question->deployment` is ignored. */
char *rh_report_serve_plan_text(const RhServeQuestion *question, const RhServePlan *plan,
                                const RhServePlanOptions *options, int32_t top,
                                const RhReportStyle *style);
char *rh_report_serve_plan_json(const RhServeQuestion *question, const RhServePlan *plan,
                                const RhServePlanOptions *options, int32_t top);
/* Parts of these about a day: rows of its hours, and what they take. */
void rh_report_serve_day(GString *out, const RhServeDay *day, const RhFact *price);
void rh_put_serve_day(RhJsonWriter *w, const RhServeDay *day, const RhFact *price);
char *rh_report_serve_plan_csv(const RhServePlan *plan);
typedef struct {
    const char *name;   /* path or name by which the server loads it */
    const char *recipe; /* precision recipe (workloads/precision_recipe.h) */
} RhLaunchedModel;
/* Returns a launch command for each pool; NULL for servers without one. */
char *rh_report_serve_launch(const RhDeployment *deployment, const RhLaunchedModel *model);
