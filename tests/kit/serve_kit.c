#include "tests/kit/serve_kit.h"

Setting setting_of(const char *model, const char *platform, const char *deployment)
{
    Setting s = {.model = rh_model_load(model, NULL),
                 .platform = rh_platform_load(platform, NULL),
                 .deployment = rh_deployment_default()};
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.model);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.platform);
    CU_ASSERT_TRUE_FATAL(rh_deployment_parse(deployment, &s.deployment, NULL));
    s.serving = (RhServing){s.model, &rh_recipe_bf16, s.platform,
                            rh_server_by_name(s.deployment.server, NULL), NULL};
    return s;
}

void close_setting(Setting *s)
{
    rh_model_free(s->model);
    rh_platform_free(s->platform);
}

RhServiceResult *serve(const Setting *s, const RhRequests *requests, const RhClient *client)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhService) service = rh_service_new(&s->serving, &s->deployment, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    RhServiceResult *result = rh_service_run(service, requests, client, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    return result;
}

double within_s(const RhSteadyWindow *w, double from_s, double until_s)
{
    double end_s = w->t_begin_s + w->duration_s;
    return MAX(0, MIN(until_s, end_s) - MAX(from_s, w->t_begin_s));
}

RhRequests *drawn(int32_t count, double rate, int32_t input, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = rate,
                           .count = count,
                           .input = {input / 2, input},
                           .output = {output / 2, output},
                           .seed = 3};
    return rh_requests_draw(&plan);
}

const RhRequestRecord *at(const RhServiceResult *r, guint i)
{
    return &g_array_index(r->served, RhRequestRecord, i);
}

double wire_s(const Setting *s, double iteration_s, int32_t tokens)
{
    RhPool pool = s->deployment.pools[0];
    pool.batch = s->serving.server->batch;
    pool.chunk = s->serving.server->chunk;
    g_autoptr(RhIterations) it = rh_iterations_new(&s->serving, &pool, NULL);
    g_autoptr(RhReplicaTraffic) traffic = rh_replica_traffic_new(it, 0);
    double alone_s[RH_TRAFFIC_PARTS], sum_s = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(traffic);
    rh_replica_traffic_alone(traffic, iteration_s, tokens, 1, alone_s);
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++)
        sum_s += alone_s[i];
    return sum_s;
}
