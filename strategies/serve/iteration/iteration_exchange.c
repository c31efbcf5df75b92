/* Exchanges between ranks of a server in an iteration: their time, and a list of them. */
#include <math.h>

#include "sim/collective/collective.h"
#include "strategies/serve/iteration/iteration_private.h"

RhShard rh_iteration_experts_shard(const RhShard *shard)
{
    RhShard s = *shard;
    s.sequence_parallel = s.tp > 1 && (s.ep > 1 || (s.etp > 0 && s.etp != s.tp));
    return s;
}

RhShard rh_iteration_prompt_shard(const RhIterations *it, int32_t tokens, int32_t cached)
{
    RhShard shard = it->shard;
    shard.microbatch = 1;
    shard.sequence = tokens;
    shard.cached = cached;
    return shard;
}

double rh_iteration_hidden_bytes(const RhIterations *it, int32_t tokens)
{
    return (double)tokens * (double)it->model->hidden * rh_dtype_bytes(it->shard.dtype);
}

double rh_iteration_handed_bytes(const RhIterations *it, int32_t tokens)
{
    int32_t chosen = 0;
    for (int32_t k = 0; k < it->model->kinds_count; k++)
        if (it->model->kinds[k].index_shared)
            chosen = MAX(chosen, it->model->kinds[k].window_tokens);
    return rh_iteration_hidden_bytes(it, tokens) + (double)RH_CHOSEN_KEY_BYTES * tokens * chosen;
}

/* --- time --- */

static double exchange_s(const RhIterations *it, RhOp op, int32_t ranks, double bytes)
{
    int32_t each = it->platform->gpus_per_node;
    if (ranks <= 1 || bytes <= 0)
        return 0;
    g_autofree int32_t *nodes = g_new(int32_t, ranks);
    for (int32_t i = 0; i < ranks; i++)
        nodes[i] = i / each;
    RhAlgo algo = rh_collective_choose(op, ranks, nodes, bytes, it->platform, NULL);
    return rh_collective_estimate_s(op, algo, ranks, nodes, bytes, it->platform) +
           rh_collective_launch_s(op, algo, ranks, nodes, it->platform);
}

/* Time of a sum by the server's own kernels inside a node; HUGE_VAL: its profile has none. */
static double own_sum_s(const RhIterations *it, double bytes)
{
    return it->pool.tp > it->platform->gpus_per_node
               ? HUGE_VAL
               : rh_peer_reduce_s(it->platform->device, it->pool.tp, bytes);
}

static double sum_s(const RhIterations *it, double bytes)
{
    double own_s = own_sum_s(it, bytes);
    return own_s < HUGE_VAL ? own_s : exchange_s(it, RH_OP_ALL_REDUCE, it->pool.tp, bytes);
}

/* Tokens of one of the ranks that share experts. */
static double own_tokens(const RhShard *own)
{
    return (double)rh_shard_tokens(own) / (own->sequence_parallel ? own->tp : 1);
}

static const RhA2aBackend *kernels_of(const RhIterations *it, const RhShard *own)
{
    const RhServer *s = it->server;
    return own_tokens(own) <= s->few_tokens ? s->exchange_few : s->exchange_many;
}

/* Most GPUs of a single host (a DGX-2's two boards); where NVLink joins more, hosts of a rack are
 * one domain (MNNVL). */
#define HOST_GPUS_MOST 16

/* Where each expert is cut over some of the ranks, these need the same tokens: all is gathered. */
static bool cuts(const RhIterations *it)
{
    return it->pool.dp > 1 && rh_pool_expert_tensor(&it->pool) > 1;
}

static bool gathers(const RhIterations *it, const RhLayerKind *kind)
{
    if (cuts(it))
        return true;
    const RhServer *s = it->server;
    bool domain = it->platform->gpus_per_node > HOST_GPUS_MOST;
    return s->gather && !(s->domain_sends && domain && it->pool.ep > kind->experts_per_token);
}

/* Exchange by the library's collective: a copy of a token to each of its experts; or, where all is
 * gathered, one to every rank, and from every rank a sum for it, whichever experts are busy. */
static RhServedExchange way_of(const RhIterations *it, const RhLayerKind *kind, const RhExchange *e)
{
    if (!gathers(it, kind))
        return (RhServedExchange){RH_OP_ALL_TO_ALL, true, e->bytes};
    return (RhServedExchange){
        e->kind == RH_EXCHANGE_DISPATCH ? RH_OP_ALL_GATHER : RH_OP_REDUCE_SCATTER, true,
        e->bytes / e->busiest / kind->experts_per_token * rh_pool_expert_ranks(&it->pool)};
}

/* Time of an exchange, by the server's own kernels, which know how many experts a token asks, or by
 * the library's. */
static double exchange_time_s(const RhIterations *it, const RhLayerKind *kind, const RhShard *own,
                              const RhExchange *e)
{
    const RhA2aBackend *x = kernels_of(it, own);
    double tokens = own_tokens(own);
    if (!x || cuts(it)) {
        RhServedExchange way = way_of(it, kind, e);
        return exchange_s(it, way.op, rh_pool_expert_ranks(&it->pool), way.bytes);
    }
    RhA2aLoad load = {.ranks = it->pool.ep,
                      .tokens = tokens,
                      .token_bytes = e->bytes / (tokens * kind->experts_per_token),
                      .routing = {.experts = kind->experts,
                                  .chosen = kind->experts_per_token,
                                  .groups = MAX(kind->n_group, 1),
                                  .groups_chosen = MAX(kind->topk_group, 1)}};
    return rh_a2a_backend_s(x, e->kind == RH_EXCHANGE_DISPATCH ? &x->dispatch : &x->combine,
                            it->platform, &load);
}

/* Exchanges of tokens with experts of other groups, there and back. Caller frees. */
static GArray *ways_of(RhIterations *it, const RhLayerKind *kind, const RhShard *own)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    GArray *ways = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    g_array_set_size(it->kernels, 0);
    rh_block_pass(it->model, kind, RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_PREFILL, own,
                  (RhBlockList){it->kernels, all});
    for (guint i = 0; i < all->len; i++) {
        const RhExchange *e = &g_array_index(all, RhExchange, i);
        if (e->kind == RH_EXCHANGE_DISPATCH || e->kind == RH_EXCHANGE_COMBINE)
            g_array_append_vals(ways, e, 1);
    }
    return ways;
}

static double travel_s(RhIterations *it, const RhLayerKind *kind, const RhShard *shard)
{
    RhShard own = rh_iteration_experts_shard(shard);
    g_autoptr(GArray) ways = ways_of(it, kind, &own);
    double s = 0;
    for (guint i = 0; i < ways->len; i++)
        s += exchange_time_s(it, kind, &own, &g_array_index(ways, RhExchange, i));
    return s;
}

static bool is_sent(const RhIterations *it, const RhLayerKind *kind, RhBlock block)
{
    return block == RH_BLOCK_FFN && kind->experts > 0 && it->pool.dp > 1;
}

static bool is_summed(const RhIterations *it, const RhLayerKind *kind, RhBlock block)
{
    const RhOperator *op = block == RH_BLOCK_MIXER ? kind->mixer : kind->ffn;
    return op && (!is_sent(it, kind, block) || kind->shared_width > 0);
}

/* Bytes of the sums of squares of queries and of keys, in 32 bits, where their norms are over the heads
 * of all ranks. */
static double squares_bytes(const RhLayerKind *kind, RhBlock block, const RhShard *shard)
{
    bool joint = block == RH_BLOCK_MIXER && kind->joint_qk_norm;
    return joint ? 2 * 4.0 * (double)rh_shard_tokens(shard) : 0;
}

/* Time of a block's exchanges. A block sums its output over the tensor ranks, whether these cut it
 * or have experts of their own; with several groups tokens are sent to experts, and a shared one is
 * cut like a dense network. */
static double block_exchange_s(RhIterations *it, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard)
{
    bool sent = is_sent(it, kind, block), summed = is_summed(it, kind, block);
    double squares = squares_bytes(kind, block, shard);
    return (sent ? travel_s(it, kind, shard) : 0) +
           (summed ? sum_s(it, rh_iteration_hidden_bytes(it, (int32_t)rh_shard_tokens(shard)))
                   : 0) +
           (squares > 0 ? sum_s(it, squares) : 0);
}

/* Exchanges of all layers, of the embedding, whose vocabulary is sharded, and between stages of a
 * pipeline. */
double rh_iteration_shard_exchanges_s(RhIterations *it, const RhShard *shard)
{
    int32_t tokens = (int32_t)rh_shard_tokens(shard);
    double s = sum_s(it, rh_iteration_hidden_bytes(it, tokens));
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        const RhLayerKind *kind = &it->model->kinds[k];
        if (it->layers[k] > 0)
            s += it->layers[k] * (block_exchange_s(it, kind, RH_BLOCK_MIXER, shard) +
                                  block_exchange_s(it, kind, RH_BLOCK_FFN, shard));
    }
    return s + (it->pool.pp - 1) *
                   exchange_s(it, RH_OP_SHIFT, 2, rh_iteration_handed_bytes(it, tokens));
}

/* --- list --- */

static void append_exchange(GArray *out, RhOp op, bool experts, double bytes)
{
    RhServedExchange exchange = {op, experts, bytes};
    g_array_append_val(out, exchange);
}

static void list_sum(const RhIterations *it, double bytes, GArray *out)
{
    if (it->pool.tp > 1 && own_sum_s(it, bytes) == HUGE_VAL)
        append_exchange(out, RH_OP_ALL_REDUCE, false, bytes);
}

static void list_block(RhIterations *it, const RhLayerKind *kind, RhBlock block,
                       const RhShard *shard, GArray *out)
{
    RhShard own = rh_iteration_experts_shard(shard);
    g_autoptr(GArray) ways = is_sent(it, kind, block) ? ways_of(it, kind, &own) : NULL;
    for (guint i = 0; ways && i < ways->len; i++) {
        RhServedExchange way = way_of(it, kind, &g_array_index(ways, RhExchange, i));
        append_exchange(out, way.op, true, way.bytes);
    }
    if (is_summed(it, kind, block))
        list_sum(it, rh_iteration_hidden_bytes(it, (int32_t)rh_shard_tokens(shard)), out);
    if (squares_bytes(kind, block, shard) > 0)
        list_sum(it, squares_bytes(kind, block, shard), out);
}

static double logit_bytes(const RhIterations *it, int32_t sequences)
{
    return (double)sequences * (double)it->model->vocab * rh_dtype_bytes(it->shard.dtype);
}

/* Time in which one rank gathers the logits, of which each has its words'. */
double rh_iteration_gather_s(const RhIterations *it, int32_t sequences)
{
    return exchange_s(it, RH_OP_ALL_GATHER, it->pool.tp, logit_bytes(it, sequences));
}

void rh_iteration_exchanges(RhIterations *it, int32_t tokens, int32_t sequences, GArray *out)
{
    RhShard shard = rh_iteration_prompt_shard(it, tokens, 0);
    g_autoptr(GArray) layer = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
    list_sum(it, rh_iteration_hidden_bytes(it, tokens), out);
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        g_array_set_size(layer, 0);
        if (it->layers[k] > 0) {
            list_block(it, &it->model->kinds[k], RH_BLOCK_MIXER, &shard, layer);
            list_block(it, &it->model->kinds[k], RH_BLOCK_FFN, &shard, layer);
        }
        for (int32_t l = 0; layer->len > 0 && l < it->layers[k]; l++)
            g_array_append_vals(out, layer->data, layer->len);
    }
    if (it->pool.tp > 1 && sequences > 0)
        append_exchange(out, RH_OP_ALL_GATHER, false, logit_bytes(it, sequences));
}

double rh_iteration_exchanges_s(RhIterations *it, int32_t tokens, int32_t sequences)
{
    RhShard shard = rh_iteration_prompt_shard(it, tokens, 0);
    return rh_iteration_shard_exchanges_s(it, &shard) + rh_iteration_gather_s(it, sequences);
}

double rh_served_exchange_s(RhIterations *it, const RhServedExchange *e)
{
    return exchange_s(it, e->op, e->experts ? rh_pool_expert_ranks(&it->pool) : it->pool.tp,
                      e->bytes);
}
