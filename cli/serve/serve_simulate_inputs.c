#include "cli/serve/serve_simulate_inputs.h"

#include "strategies/serve/server_software.h"

RhServing rh_inputs_serving(const RhInputs *in, const RhServer *server)
{
    return (RhServing){.model = in->model,
                       .recipe = in->c.job.recipe,
                       .platform = in->hardware,
                       .server = server,
                       .load = &in->c.job.load};
}

bool rh_served_inputs_load(const RhArguments *a, RhLaunchedDeployment *launch,
                           RhDeployment *deployment, RhServedInputs *out, GError **error)
{
    *out = (RhServedInputs){.in = rh_inputs_of_service(a, error)};
    if (!out->in)
        return false;
    if (launch) {
        rh_launched_service_settle(launch, out->in);
        *deployment = launch->deployment;
    }
    out->asked = rh_serve_requests_of(a, false, error);
    out->server = out->asked ? rh_server_load(deployment->server, error) : NULL;
    if (!out->server || !rh_serve_requests_fits(out->asked, out->in->model, a->lengths, error))
        return false;
    out->serving = rh_inputs_serving(out->in, out->server);
    return true;
}

void rh_served_inputs_clear(RhServedInputs *s)
{
    rh_inputs_free(s->in);
    rh_serve_requests_free(s->asked);
    g_free(s->server);
    *s = (RhServedInputs){0};
}
