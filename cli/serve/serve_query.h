#pragma once
/* A query of serve-plan or capacity for one platform: model, requests, service levels, and the
 * given part of a deployment. */
#include "cli/inputs/inputs.h"
#include "cli/serve/serve_requests.h"
#include "report/serve/serve.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server_software.h"

typedef struct {
    const RhArguments *a; /* borrowed */
    RhInputs *in;
    RhServeRequests *asked;
    RhServer *server;
    RhDeployment given; /* from -s: server and fixed knobs */
    RhServePlanOptions options;
} RhServeQuery;

/* Fills in the deployment of -s. RH_ERROR_USAGE: no such deployment, or values that cannot be
 * fixed. */
bool rh_serve_query_given(RhServeQuery *asking, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads all other inputs; `rate_per_s` of the options is --rate, 0 when it is not given. */
bool rh_serve_query_load(RhServeQuery *asking, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhServing rh_serve_query_serving(const RhServeQuery *asking); /* borrows from it */
/* Runs rh_serve_plan(); caller frees. */
RhServePlan *rh_serve_query_plan(const RhServeQuery *asking,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Makes the question of a report, borrowed from `asking`; `arrivals` is text. */
RhServeQuestion rh_serve_query_question(const RhServeQuery *asking, const char *arrivals);
/* Returns the arguments about requests, levels and confidence, with `inputs` also those about
 * inputs, for serve-simulate: options with their values, quoted for a shell. NULL-terminated; free
 * with g_strfreev. */
char **rh_serve_query_words(const RhServeQuery *asking, bool inputs);
/* Reports words without effect on the plans' first rows: queries of the same words with their plans
 * (NULL: none). */
void rh_serve_query_tell_idle(const RhArguments *arguments, const RhServeQuery *const *askings,
                              const RhServePlan *const *plans, guint count);
void rh_serve_query_clear(RhServeQuery *asking);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServeQuery, rh_serve_query_clear)
