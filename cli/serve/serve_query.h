#pragma once
/* What serve-plan and capacity ask of one platform: the model on it, the requests, their levels, and what of a
 * deployment is given. */
#include "cli/inputs/inputs.h"
#include "cli/serve/serve_requests.h"
#include "report/serve/serve.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server.h"

typedef struct {
    const RhArguments *a; /* borrowed */
    RhInputs *in;
    RhServeRequests *asked;
    RhServer *server;
    RhDeployment given; /* of -s: its server, and what is fixed */
    RhServePlanOptions options;
} RhServeQuery;

/* Fills in what -s gives. RH_ERROR_USAGE: no such deployment, or more than can be given. */
bool rh_serve_query_given(RhServeQuery *asking, GError **error);
/* Loads the rest. `rate_per_s` of the options is that of --rate, 0 where it is not given. */
bool rh_serve_query_load(RhServeQuery *asking, GError **error);
RhServing rh_serve_query_serving(const RhServeQuery *asking); /* borrows from it */
/* Caller frees. As rh_serve_plan(). */
RhServePlan *rh_serve_query_plan(const RhServeQuery *asking, GError **error);
/* Borrows from `asking`; of `arrivals` in words. */
RhServeQuestion rh_serve_query_question(const RhServeQuery *asking, const char *arrivals);
/* What was said of inputs, and of requests, levels and chance, for serve-simulate: options with their values, quoted
 * for a shell. With `inputs` those too. NULL-ended; g_strfreev frees it. */
char **rh_serve_query_words(const RhServeQuery *asking, bool inputs);
/* Words that change nothing of the plans' first rows: askings of the same words, with their plans (NULL: none). */
void rh_serve_query_tell_idle(const RhArguments *arguments, const RhServeQuery *const *askings,
                              const RhServePlan *const *plans, guint count);
void rh_serve_query_clear(RhServeQuery *asking);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServeQuery, rh_serve_query_clear)
