/* Lists the servers of a generation pool with their lower bounds. */
#include <math.h>

#include "base/error.h"
#include "strategies/search/rl/rl_plan.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server_software.h"

static const int32_t batches[] = {0, 1024}; /* sequences of a server at most; 0: its default */

/* Measured: vLLM's host turns 64 sequences with the log-probabilities of their tokens into 13,583 tokens/s, without into
 * 18,645 (Qwen2.5-0.5B on an L20, logprobs=0; vllm-project/vllm pull request 57442, September 2026). */
#define LOG_PROBS_S 20e-6

void rh_rl_server_adds_log_probs(RhServer *server)
{
    server->sequence_s.value += LOG_PROBS_S;
}

RhServing rh_rl_serving(const RhRlPlanOptions *o)
{
    return (RhServing){.model = o->problem->model,
                       .recipe = o->problem->job.recipe,
                       .platform = o->hardware,
                       .server = o->server,
                       .load = &o->problem->job.load};
}

/* No batch of a step is answered sooner: its tokens at the highest rate, and its longest answer
 * alone on a server. */
static void set_bounds(const RhRlPlanOptions *o, const RhRlTokens *tokens, RhService *service,
                       RhRlServers *servers)
{
    RhSlos slos = {0};
    RhServeMeans means = {.input = tokens->prompt,
                          .output = tokens->answer,
                          .unread = tokens->prompt / (o->job->turns > 1 ? 1 : o->job->samples),
                          .shortest = 1};
    double rate_per_s =
        rh_serve_bound_per_s(service, &servers->deployment, o->server, &means, &slos);
    RhDecodeRun alone =
        rh_iteration_run(rh_service_iterations(service, 0), 1, (int64_t)tokens->prompt);
    double last_s =
        alone.first_s * (double)tokens->longest_answer + o->job->tool_s * (o->job->turns - 1);
    servers->work_s = (double)rh_rl_step_samples(o->job) / rate_per_s;
    servers->bound_s = fmax(servers->work_s, last_s);
    servers->tokens_per_s = (double)rh_rl_step_samples(o->job) * tokens->answer / servers->bound_s;
}

static void note_why(char **why, char *reason)
{
    if (!why) {
        g_free(reason);
        return;
    }
    g_free(*why);
    *why = reason;
}

static void add(const RhRlPlanOptions *o, const RhRlTokens *tokens, int32_t gpus,
                const RhPool *pool, GArray *out, char **why)
{
    RhServing serving = rh_rl_serving(o);
    RhDeployment d = o->given;
    d.pools[0] = *pool;
    d.pools[0].replicas = gpus / rh_pool_gpus(pool);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhService) service =
        d.pools[0].replicas > 0 ? rh_service_new(&serving, &d, &error) : NULL;
    if (!service) {
        if (error)
            note_why(why, g_strdup(error->message));
        return;
    }
    RhKvBudget budget = rh_service_kv_budget(service, 0);
    if (budget.tokens < tokens->longest) {
        note_why(why, g_strdup_printf("a server on %d GPUs caches %.0f tokens, and the longest "
                                      "sample has %" G_GINT64_FORMAT,
                                      rh_pool_gpus(pool), (double)budget.tokens,
                                      (gint64)tokens->longest));
        return;
    }
    RhRlServers servers = {.gpus = gpus, .deployment = d};
    set_bounds(o, tokens, service, &servers);
    g_array_append_val(out, servers);
}

static bool is_free(int32_t given, int32_t value)
{
    return given == 0 || given == value;
}

void rh_rl_servers_list(const RhRlPlanOptions *o, const RhRlTokens *tokens, int32_t gpus,
                        GArray *out, char **why)
{
    const RhPool *given = &o->given.pools[0];
    bool experts = rh_model_experts_kind(o->problem->model) != NULL;
    int32_t node = o->hardware->gpus_per_node, widest = MAX(node, given->tp);
    for (int32_t tp = 1; tp <= MIN(widest, gpus); tp *= 2)
        for (int32_t pp = 1; tp * pp <= gpus && (pp == 1 || tp >= node); pp *= 2)
            for (int32_t dp = 1; tp * pp * dp <= gpus && (dp == 1 || experts); dp *= 2)
                for (int32_t ep = 1; ep <= tp * dp; ep *= tp * dp > 1 ? tp * dp : 2) {
                    if (!is_free(given->tp, tp) || !is_free(given->pp, pp) ||
                        !is_free(given->dp, dp) || !is_free(given->ep, ep) ||
                        (ep > 1 && !experts) || (dp > 1 && ep == 1))
                        continue;
                    for (guint b = 0; b < G_N_ELEMENTS(batches) && (b == 0 || given->batch == 0);
                         b++) {
                        RhPool pool = *given;
                        pool.tp = tp, pool.pp = pp, pool.dp = dp, pool.ep = ep;
                        pool.batch = given->batch > 0 ? given->batch : batches[b];
                        add(o, tokens, gpus, &pool, out, why);
                    }
                }
}
