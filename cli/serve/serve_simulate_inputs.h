#pragma once
/* Inputs of a deployment that is simulated: model and platform, requests and server. */
#include "cli/serve/launched_service.h"
#include "cli/serve/serve_requests.h"

typedef struct {
    RhInputs *in; /* all owned */
    RhServeRequests *asked;
    RhServer *server;
    RhServing serving; /* borrows from those */
} RhServedInputs;

/* Returns what serves the loaded model; borrows from both. */
RhServing rh_inputs_serving(const RhInputs *inputs, const RhServer *server);
/* Loads what the options say and checks the requests against the model. A `launch` (may be NULL) is
 * settled, and *deployment then is its own. The caller clears *out, also after a failure. */
bool rh_served_inputs_load(const RhArguments *arguments, RhLaunchedDeployment *launch,
                           RhDeployment *deployment, RhServedInputs *out,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_served_inputs_clear(RhServedInputs *inputs);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhServedInputs, rh_served_inputs_clear)
