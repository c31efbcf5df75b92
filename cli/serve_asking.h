#pragma once
/* What serve-plan and capacity ask of one platform: the model on it, the requests, their levels, and what of a
 * deployment is given. */
#include "cli/inputs.h"
#include "cli/serve_requests.h"
#include "report/serve.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server.h"

typedef struct {
    const RhArguments *a; /* borrowed */
    RhInputs *in;
    RhAsked *asked;
    RhServer *server;
    RhDeployment given; /* of -s: its server, and what is fixed */
    RhServePlanOptions options;
} RhServeAsking;

/* Fills in what -s gives. RH_ERROR_USAGE: no such deployment, or more than can be given. */
bool rh_serve_asking_given(RhServeAsking *asking, GError **error);
/* Loads the rest. `rate_per_s` of the options is that of --rate, 0 where it is not given. */
bool rh_serve_asking_load(RhServeAsking *asking, GError **error);
RhServing rh_serve_asking_serving(const RhServeAsking *asking); /* borrows from it */
/* Caller frees. As rh_serve_plan(). */
RhServePlan *rh_serve_asking_plan(const RhServeAsking *asking, GError **error);
/* Borrows from `asking`; of `arrivals` in words. */
RhServeQuestion rh_serve_asking_question(const RhServeAsking *asking, const char *arrivals);
/* What was said of inputs, and of requests, levels and chance, for serve-simulate: options with their values, quoted
 * for a shell. With `inputs` those too. NULL-ended; g_strfreev frees it. */
char **rh_serve_asking_words(const RhServeAsking *asking, bool inputs);
/* Words that change nothing of the plans' first rows: askings of the same words, with their plans (NULL: none). */
void rh_serve_asking_tell_idle(const RhArguments *arguments, const RhServeAsking *const *askings,
                               const RhServePlan *const *plans, guint count);
void rh_serve_asking_clear(RhServeAsking *asking);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServeAsking, rh_serve_asking_clear)
