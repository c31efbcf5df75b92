/* Checks a service before it is simulated: what fits on its GPUs, and which requests its model can
 * take. */
#include "base/error.h"
#include "base/units.h"
#include "strategies/serve/scheduler.h"
#include "strategies/serve/service/service_private.h"

#define MIB 1048576.0

/* Limits of a deployment are of one of the groups that a server has, and that of tokens is of one of the
 * batches that follow each other through its stages; the replica has those of all. */
RhPool rh_service_settled(const RhPool *pool, const RhServer *server, const RhDevice *device)
{
    RhPool p = *pool;
    if (p.chunk == 0)
        p.chunk = rh_memory_reserve_chunk(&server->left, device->hbm_bytes.value);
    p.batch = (p.batch > 0 ? p.batch : server->batch) * rh_server_batches(server, &p);
    p.chunk = (p.chunk > 0 ? p.chunk : server->chunk) * rh_pool_batches(&p);
    return p;
}

static bool check_window(const RhPool *pool, const RhServer *server, GError **error)
{
    return pool->window == 0 || server->scheduler->gathers
               ? true
               : rh_fail(error, RH_ERROR_USAGE,
                         "window=%d: requests join the batches of %s while these are under way\n"
                         "help: server=static",
                         pool->window, server->name);
}

static bool check_draft(const RhPool *pool, GError **error)
{
    return pool->draft == 0 || pool->accept >= 0
               ? true
               : rh_fail(error, RH_ERROR_USAGE,
                         "draft=%d: how many guesses are right is not given\n"
                         "help: accept=70, as measured of this model and what it is asked",
                         pool->draft);
}

bool rh_service_holds_longest(const RhServer *server, const RhPool *pool, const RhKvBudget *budget)
{
    return !server->holds_longest || budget->tokens / pool->dp >= pool->max_model_len;
}

static bool fail_room(const RhServing *s, const RhServicePool *stage, GError **error)
{
    const RhKvBudget *budget = &stage->budget;
    bool tokens = rh_model_makes_tokens(s->model);
    double frac = rh_service_memory_frac(s->server, &stage->pool, budget->capacity_bytes);
    return rh_fail(
        error, RH_ERROR_NO_ANSWER,
        "%s on tp%d leaves no room for a %s: a GPU has %.1f GiB, %s takes %.0f %% of "
        "them, weights are %.1f GiB, activations %.1f, states of %d sequences %.1f, the rest %.1f",
        s->model->name, stage->pool.tp, tokens ? "cache" : "batch",
        budget->capacity_bytes / (1024 * MIB), s->server->name, 100 * frac,
        budget->weight_bytes / (1024 * MIB), budget->activation_bytes / (1024 * MIB),
        stage->pool.batch, budget->state_bytes / (1024 * MIB),
        budget->reserve_bytes / (1024 * MIB));
}

static bool fail_longest(const RhServing *s, const RhServicePool *stage, GError **error)
{
    int64_t holds = stage->budget.tokens / stage->pool.dp;
    return rh_fail(
        error, RH_ERROR_NO_ANSWER,
        "max_model_len=%d: %s does not start, as one such request does not fit its cache of "
        "%" G_GINT64_FORMAT " tokens (%.2f GiB a GPU)",
        stage->pool.max_model_len, s->server->name, holds,
        stage->budget.cache_bytes / RH_GIB_BYTES);
}

static bool open_stage(RhService *service, int32_t p, GError **error)
{
    RhServicePool *stage = &service->stages[p];
    const RhServing *s = &service->serving;
    stage->pool = rh_service_settled(&service->deployment.pools[p], s->server, s->platform->device);
    if (!check_draft(&stage->pool, error) || !check_window(&stage->pool, s->server, error))
        return false;
    stage->iterations = rh_iterations_new(s, &stage->pool, error);
    if (!stage->iterations)
        return false;
    stage->budget = rh_kv_budget_of(s, &stage->pool, stage->iterations);
    if (!rh_scaling_check(&stage->pool, error))
        return false;
    if (!rh_service_tiers(s, &stage->pool, stage->iterations, &stage->budget, error))
        return false;
    if (stage->budget.blocks == 0)
        return fail_room(s, stage, error);
    return rh_service_holds_longest(s->server, &stage->pool, &stage->budget) ||
           fail_longest(s, stage, error);
}

RhService *rh_service_new(const RhServing *serving, const RhDeployment *d, GError **error)
{
    g_autoptr(RhService) service = g_new0(RhService, 1);
    service->serving = *serving;
    service->deployment = *d;
    service->router = rh_router_by_name(d->router);
    if (rh_deployment_gpus(d) > rh_platform_gpus(serving->platform)) {
        rh_fail(error, RH_ERROR_USAGE, "the deployment is of %d GPUs, and %s has %d",
                rh_deployment_gpus(d), serving->platform->name,
                rh_platform_gpus(serving->platform));
        return NULL;
    }
    if (d->pools_count > 1 && !rh_model_makes_tokens(serving->model)) {
        rh_fail(error, RH_ERROR_USAGE, "%s makes no tokens for a second pool\nhelp: one pool",
                serving->model->name);
        return NULL;
    }
    for (int32_t p = 0; p < d->pools_count; p++)
        if (!open_stage(service, p, error))
            return NULL;
    return g_steal_pointer(&service);
}

void rh_service_free(RhService *service)
{
    if (service && service->traffic)
        g_ptr_array_unref(service->traffic);
    if (service)
        g_free(service->traffic_meets);
    for (int p = 0; service && p < RH_POOLS_MAX; p++)
        rh_iterations_free(service->stages[p].iterations);
    g_free(service);
}

RhKvBudget rh_service_kv_budget(const RhService *service, int32_t pool)
{
    return service->stages[pool].budget;
}

int32_t rh_service_batch(const RhService *service, int32_t pool)
{
    return service->stages[pool].pool.batch;
}

int32_t rh_service_chunk(const RhService *service, int32_t pool)
{
    return service->stages[pool].pool.chunk;
}

RhIterations *rh_service_iterations(const RhService *service, int32_t pool)
{
    return service->stages[pool].iterations;
}

/* Checks a request's size. A picture is one token, or one for each patch; a model that makes no
 * tokens has no answer. */
static bool check_size(const RhModel *model, const RhRequest *q, guint i, GError **error)
{
    int64_t each = rh_model_sees_pictures(model) ? 1
                   : model->patch_entries > 0    ? model->positions
                                                 : q->input_tokens;
    if (q->output_tokens > 1)
        return rh_fail(error, RH_ERROR_INPUT,
                       "request %u asks for %d tokens, and %s makes none\n"
                       "help: leave lengths of answers out",
                       i + 1, q->output_tokens, model->name);
    if (q->input_tokens != each)
        return rh_fail(error, RH_ERROR_INPUT,
                       "request %u is of %d tokens, and what %s is asked is a picture\n"
                       "help: a picture counts as %" G_GINT64_FORMAT,
                       i + 1, q->input_tokens, model->name, each);
    return true;
}

bool rh_service_takes(const RhModel *model, const RhRequests *requests, GError **error)
{
    bool tokens = rh_model_makes_tokens(model);
    if (requests->list->len == 0)
        return rh_fail(error, RH_ERROR_INPUT, "there is no request to be served");
    if (tokens && requests->once)
        return rh_fail(error, RH_ERROR_INPUT,
                       "the number of output tokens of a request to %s is not given\n"
                       "help: out=256 of drawn lengths, output_tokens of a trace",
                       model->name);
    for (guint i = 0; !tokens && i < requests->list->len; i++)
        if (!check_size(model, &g_array_index(requests->list, RhRequest, i), i, error))
            return false;
    return true;
}
