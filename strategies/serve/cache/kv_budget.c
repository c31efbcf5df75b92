#include "strategies/serve/cache/kv_budget.h"

#include <math.h>

#include "base/error.h"
#include "base/units.h"
#include "workloads/operator_costs.h"

/* Bytes of a tensor of `columns` of 16 bits for every token of an iteration. */
static double rows_bytes(double tokens, double columns)
{
    return 2 * tokens * columns;
}

/* Columns per token inside a network before its last product: the activation's input, gate and up,
 * and its output. */
static double inner_columns(const RhLayerKind *kind, int32_t cut)
{
    return (kind->ffn_gated ? 3 : 2) * (double)kind->ffn_width / cut;
}

/* Peak bytes of a dense layer: its network's tensors, beside four copies of the hidden state (the
 * residual stream, the norm's output, inputs of queries and of the network, and outputs). */
static double dense_bytes(const RhModel *model, const RhPool *pool, double tokens)
{
    const RhLayerKind *kind = rh_model_ffn_kind(model);
    double inner = kind && kind->experts == 0 ? inner_columns(kind, pool->tp) : 0;
    return rows_bytes(tokens, inner + 4 * (double)model->hidden);
}

/* Bytes of a mixture's buffers, kept between iterations: for each expert of each token the output
 * of the first product or of the second, whichever is wider, and the second one's input. */
static double mixture_bytes(const RhModel *model, const RhPool *pool, double tokens)
{
    const RhLayerKind *kind = rh_model_experts_kind(model);
    if (!kind)
        return 0;
    double cut = rh_pool_expert_tensor(pool);
    double width = (double)kind->ffn_width / cut, first = (kind->ffn_gated ? 2 : 1) * width;
    return rows_bytes(tokens * kind->experts_per_token, fmax(first, (double)model->hidden) + width);
}

/* Bytes of a pass: inputs and outputs of its widest layer (an upper bound: all at once). */
static double pass_bytes(const RhServing *s, const RhPool *pool)
{
    const RhModel *m = s->model;
    int64_t each = rh_model_sees_pictures(m) ? 1 : MAX(m->positions, 1);
    RhShard shard = {.tp = pool->tp,
                     .ep = 1,
                     .sequence = each,
                     .microbatch = pool->batch,
                     .dtype = s->recipe->dtype,
                     .recipe = s->recipe,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true};
    double most = 0;
    for (int k = 0; k < m->kinds_count; k++)
        for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++) {
            RhActivation a = rh_block_activation_bytes(m, &m->kinds[k], block, &shard);
            most = fmax(most, a.kept + a.forward);
        }
    return most;
}

/* Bytes of activations in the largest possible iteration: `batch` sequences in `chunk` tokens.
 * Logits of all sequences and the whole vocabulary are on every rank, in several copies while
 * tokens are sampled: for the sequences of an iteration, or, where a server allocates these buffers
 * when it starts, for the maximum. */
static double activation_bytes(const RhServing *s, const RhPool *pool)
{
    const RhModel *model = s->model;
    if (!rh_model_makes_tokens(model))
        return pass_bytes(s, pool);
    double tokens = (double)pool->chunk / rh_pool_batches(pool),
           sequences = (double)pool->batch / pool->dp;
    double drawn = s->server->logits_at_start ? sequences : fmin(sequences, tokens);
    double drawing = s->server->logit_bytes.value * drawn * (double)model->vocab +
                     rows_bytes(tokens, (double)model->hidden);
    return fmax(drawing + mixture_bytes(model, pool, tokens), dense_bytes(model, pool, tokens));
}

double rh_service_memory_frac(const RhServer *server, const RhPool *pool, double capacity_bytes)
{
    double left = rh_memory_reserve_bytes(&server->left, pool, capacity_bytes);
    if (pool->memory > 0)
        return pool->memory / 100.0;
    return left > 0 ? fmax(1 - left / capacity_bytes, 0) : server->memory_frac.value;
}

/* Bytes left for the cache. The server's fraction is of all memory, of what is free before it loads
 * anything, or of what weights and an iteration leave. Negative: that much is missing. */
static double cache_bytes(const RhServer *server, const RhPool *pool, const RhKvBudget *r)
{
    double frac = rh_service_memory_frac(server, pool, r->capacity_bytes);
    double working = r->activation_bytes + r->reserve_bytes, left = 0;
    switch (server->memory_of) {
    case RH_MEMORY_OF_ALL:
        left = frac * r->capacity_bytes - r->weight_bytes - working;
        break;
    case RH_MEMORY_OF_FREE:
        left = frac * (r->capacity_bytes - r->reserve_bytes) - r->weight_bytes;
        break;
    case RH_MEMORY_OF_REST:
        left = frac * (r->capacity_bytes - r->weight_bytes - working);
        break;
    }
    return left - r->state_bytes;
}

RhKvBudget rh_kv_budget_of(const RhServing *s, const RhPool *pool, const RhIterations *it)
{
    RhKvBudget budget = {.capacity_bytes = rh_iterations_platform(it)->device->hbm_bytes.value,
                         .weight_bytes = rh_iterations_weight_bytes(it),
                         .activation_bytes = activation_bytes(s, pool),
                         .reserve_bytes = s->server->reserve_bytes.value +
                                          (pool->tp > 1 ? s->server->rank_reserve_bytes.value : 0),
                         .state_bytes = rh_iterations_sequence_bytes(it) * pool->batch / pool->dp};
    double block = rh_iterations_token_bytes(it) * s->server->block_tokens;
    double left = cache_bytes(s->server, pool, &budget);
    budget.cache_bytes = fmax(left, 0);
    bool fits = left > 0;
    double blocks = !fits ? 0 : block > 0 ? floor(budget.cache_bytes / block) * pool->dp : 1 << 30;
    budget.blocks = (int32_t)fmin(blocks, pool->blocks > 0 ? pool->blocks : 1 << 30);
    budget.start_s = s->server->start_s.value + rh_iterations_weights_s(it);
    budget.tokens = (int64_t)budget.blocks * s->server->block_tokens;
    return budget;
}

/* --- slower memory behind the cache --- */

/* Fraction of a node's memory for one server: a server that spans nodes has a part of each; servers
 * that share a node divide it. */
static double node_share(const RhPlatform *p, const RhPool *pool)
{
    double nodes = ceil((double)rh_pool_gpus(pool) / p->gpus_per_node);
    double beside = fmax(floor((double)p->gpus_per_node / rh_pool_gpus(pool)), 1);
    return fmin(beside, pool->replicas) / nodes;
}

/* Checks that streamed weights fit into host memory, or onto drives. */
static bool check_streamed(const RhServing *s, const RhPool *pool, const RhIterations *it,
                           GError **error)
{
    const RhPlatform *p = s->platform;
    bool drives = pool->weights == RH_WEIGHTS_NVME;
    double there = drives ? p->nvme_bytes.value : p->host_bytes.value;
    double asked = rh_iterations_streamed_bytes(it) * rh_pool_gpus(pool) * node_share(p, pool);
    if (there <= 0 || asked <= there)
        return true;
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "weights=%s: they are %.0f GiB of a node, %s has %.0f", drives ? "nvme" : "host",
                   asked / RH_GIB_BYTES, p->name, there / RH_GIB_BYTES);
}

static bool check_tier(const RhPlatform *p, const RhPool *pool, const char *key, int32_t gib,
                       const RhFact *there, GError **error)
{
    double asked = gib * RH_GIB_BYTES * node_share(p, pool);
    if (there->value <= 0 || asked <= there->value)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "%s=%d: servers ask %.0f GiB of a node, %s has %.0f", key,
                   gib, asked / RH_GIB_BYTES, p->name, there->value / RH_GIB_BYTES);
}

static bool check_tiers(const RhServing *s, const RhPool *pool, GError **error)
{
    const RhPlatform *p = s->platform;
    if (pool->host == 0 && pool->nvme == 0)
        return true;
    if (pool->prefix == RH_PREFIX_OFF || (pool->prefix == RH_PREFIX_AUTO && !s->server->prefix))
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s=%d: a cache that does not remember prompts puts nothing there\n"
                       "help: prefix=on",
                       pool->host ? "host" : "nvme", pool->host ? pool->host : pool->nvme);
    if (pool->nvme > 0 && p->nvme_bytes_per_s.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "nvme=%d: nodes of %s have no drives", pool->nvme,
                       p->name);
    return check_tier(p, pool, "host", pool->host, &p->host_bytes, error) &&
           check_tier(p, pool, "nvme", pool->nvme, &p->nvme_bytes, error);
}

bool rh_service_tiers(const RhServing *s, const RhPool *pool, const RhIterations *it,
                      RhKvBudget *budget, GError **error)
{
    if (!check_tiers(s, pool, error) || !check_streamed(s, pool, it, error))
        return false;
    const RhPlatform *p = s->platform;
    double token_bytes = rh_iterations_token_bytes(it);
    int32_t ranks = pool->tp * pool->pp, on_node = MIN(ranks, p->gpus_per_node);
    double sharers = fmin(fmax(p->host_gpus_per_link.value, 1), on_node);
    double host_s = token_bytes * sharers / p->host_bytes_per_s.value;
    double nvme_s = p->nvme_bytes_per_s.value > 0
                        ? token_bytes * on_node / p->nvme_bytes_per_s.value
                        : HUGE_VAL;
    bool holds = token_bytes > 0;
    budget->tier_tokens[RH_CACHE_TIER_HOST] =
        holds ? pool->host * RH_GIB_BYTES / (token_bytes * ranks) : 0;
    budget->tier_tokens[RH_CACHE_TIER_NVME] =
        holds ? pool->nvme * RH_GIB_BYTES / (token_bytes * ranks) : 0;
    budget->tier_s[RH_CACHE_TIER_HOST] = host_s;
    budget->tier_s[RH_CACHE_TIER_NVME] = fmax(host_s, nvme_s);
    return true;
}
