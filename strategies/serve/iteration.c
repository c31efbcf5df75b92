#include "strategies/serve/iteration.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/profile.h"
#include "sim/collective/collective.h"
#include "strategies/serve/speculation.h"
#include "workloads/ops.h"

/* Times of decoding lie on a grid of contexts, four to an octave, and on a line between them, so that a
 * run of iterations is a sum of lines. */
#define NODES_PER_OCTAVE 4
#define NODES            128 /* up to 2^32 tokens */

struct RhIterations {
    const RhModel *model;
    const RhServer *server;
    RhPlatform *platform;
    RhPool pool;
    RhShard shard;
    RhRecipe recipe; /* the shard's: nothing is kept for a backward pass */
    bool casts_inside, norms_inside;
    int32_t layers[RH_LAYER_KINDS_MAX];
    GArray *tokens_s;    /* double by tokens; NaN: not asked yet */
    GArray *logits_s;    /* by sequences */
    GPtrArray *decode_s; /* by sequences: NODES doubles; NULL */
    GArray *kernels;     /* RhKernel: work space */
    double weight_bytes, token_bytes, sequence_bytes;
};

/* --- Sums over the model --- */

typedef enum { RH_KERNELS_EACH_TOKEN, RH_KERNELS_CORE } RhKernelsOf;

/* Casts of operands may be within the times of GEMMs, as the server's profile has them. Of the residual
 * stream, the sum is made by the norm that reads it (vLLM: fused_add_rms_norm; SGLang and TensorRT-LLM
 * likewise), and both may be made by the kernel that sums over tensor ranks. */
static bool is_inside(const RhIterations *it, const RhKernel *k, bool residual)
{
    if (residual)
        return k->cls == RH_KERNEL_ADD || (k->cls == RH_KERNEL_NORM && it->norms_inside);
    return k->cls == RH_KERNEL_CAST && it->casts_inside;
}

/* Of the list's first `residual` kernels and the others. */
static double kernels_s(const RhIterations *it, guint residual, RhKernelsOf of)
{
    double s = 0;
    for (guint i = 0; i < it->kernels->len; i++) {
        const RhKernel *k = &g_array_index(it->kernels, RhKernel, i);
        if (k->core == (of == RH_KERNELS_CORE) && !is_inside(it, k, i < residual))
            s += rh_kernel_time_s(it->platform->device, k);
    }
    return s;
}

/* Where experts lie on some of the ranks, each rank gives its own part of the tokens to them. */
static RhShard experts_shard(const RhShard *shard)
{
    RhShard s = *shard;
    s.sequence_parallel = s.ep > 1 && s.tp > 1;
    return s;
}

static double block_s(RhIterations *it, const RhLayerKind *kind, RhBlock block, RhPass pass,
                      const RhShard *shard, RhKernelsOf of)
{
    RhShard own = block == RH_BLOCK_FFN ? experts_shard(shard) : *shard;
    g_array_set_size(it->kernels, 0);
    rh_block_kernels(it->model, kind, block, RH_PART_SEQUENCE, pass, shard, it->kernels);
    guint residual = kind ? it->kernels->len : 0;
    rh_block_kernels(it->model, kind, block, RH_PART_TENSOR, pass, &own, it->kernels);
    return kernels_s(it, residual, of);
}

static double layers_s(RhIterations *it, RhPass pass, const RhShard *shard, RhKernelsOf of)
{
    double s = 0;
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        const RhLayerKind *kind = &it->model->kinds[k];
        if (it->layers[k] > 0)
            s += it->layers[k] * (block_s(it, kind, RH_BLOCK_MIXER, pass, shard, of) +
                                  block_s(it, kind, RH_BLOCK_FFN, pass, shard, of));
    }
    return s;
}

/* --- What ranks exchange --- */

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
           it->platform->collective_launch_s.value;
}

/* By the server's own kernels inside a node, where its profile knows them. */
static double sum_s(const RhIterations *it, double bytes)
{
    int32_t ranks = it->pool.tp;
    double own_s = ranks > it->platform->gpus_per_node
                       ? HUGE_VAL
                       : rh_peer_reduce_s(it->platform->device, ranks, bytes);
    return own_s < HUGE_VAL ? own_s : exchange_s(it, RH_OP_ALL_REDUCE, ranks, bytes);
}

static double hidden_bytes(const RhIterations *it, int32_t tokens)
{
    return (double)tokens * (double)it->model->hidden * rh_dtype_bytes(it->shard.dtype);
}

/* By the server's own kernels, which know how many experts a token asks; by the library's all-to-all. */
static double way_s(const RhIterations *it, const RhLayerKind *kind, const RhShard *own,
                    const RhExchange *e)
{
    double tokens = (double)rh_shard_tokens(own) / (own->sequence_parallel ? own->tp : 1);
    const RhServer *s = it->server;
    const RhExchanger *x = tokens <= s->few_tokens ? s->exchange_few : s->exchange_many;
    if (!x)
        return exchange_s(it, RH_OP_ALL_TO_ALL, it->pool.ep, e->bytes);
    RhExchangeLoad load = {.ranks = it->pool.ep,
                           .tokens = tokens,
                           .token_bytes = e->bytes / (tokens * kind->experts_per_token),
                           .routing = {kind->experts, kind->experts_per_token,
                                       MAX(kind->expert_groups, 1),
                                       MAX(kind->expert_groups_chosen, 1)}};
    return rh_exchanger_s(x, e->kind == RH_EXCHANGE_DISPATCH ? &x->dispatch : &x->combine,
                          it->platform, &load);
}

/* Tokens on their way to experts of other groups, and back. */
static double travel_s(RhIterations *it, const RhLayerKind *kind, const RhShard *shard)
{
    RhShard own = experts_shard(shard);
    g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    double s = 0;
    g_array_set_size(it->kernels, 0);
    rh_block_pass(it->model, kind, RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_PREFILL, &own, it->kernels,
                  exchanges);
    for (guint i = 0; i < exchanges->len; i++) {
        const RhExchange *e = &g_array_index(exchanges, RhExchange, i);
        if (e->kind == RH_EXCHANGE_DISPATCH || e->kind == RH_EXCHANGE_COMBINE)
            s += way_s(it, kind, &own, e);
    }
    return s;
}

/* A block sums its output over the tensor ranks, whether they cut it or have experts of their own; with
 * several groups experts are sent their tokens, and a shared one is cut as a dense network. */
static double block_exchange_s(RhIterations *it, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard)
{
    const RhOperator *op = block == RH_BLOCK_MIXER ? kind->mixer : kind->ffn;
    bool sent = block == RH_BLOCK_FFN && kind->experts > 0 && it->pool.dp > 1;
    bool summed = op && (!sent || kind->shared_width > 0);
    return (sent ? travel_s(it, kind, shard) : 0) +
           (summed ? sum_s(it, hidden_bytes(it, (int32_t)rh_shard_tokens(shard))) : 0);
}

/* Of all layers, and of the embedding, whose words are spread; from stage to stage of a pipeline. */
static double exchanges_s(RhIterations *it, const RhShard *shard)
{
    int32_t tokens = (int32_t)rh_shard_tokens(shard);
    double s = sum_s(it, hidden_bytes(it, tokens));
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        const RhLayerKind *kind = &it->model->kinds[k];
        if (it->layers[k] > 0)
            s += it->layers[k] * (block_exchange_s(it, kind, RH_BLOCK_MIXER, shard) +
                                  block_exchange_s(it, kind, RH_BLOCK_FFN, shard));
    }
    return s + (it->pool.pp - 1) * exchange_s(it, RH_OP_SHIFT, 2, hidden_bytes(it, tokens));
}

/* --- Parts of an iteration --- */

static RhShard prompt_shard(const RhIterations *it, int32_t tokens, int32_t cached)
{
    RhShard shard = it->shard;
    shard.microbatch = 1;
    shard.sequence = tokens;
    shard.cached = cached;
    return shard;
}

static RhShard decode_shard(const RhIterations *it, int32_t sequences, int64_t context)
{
    RhShard shard = it->shard;
    shard.microbatch = sequences;
    shard.sequence = context;
    return shard;
}

static double *remembered(GArray *table, int32_t i)
{
    static const double unknown = (double)NAN;
    while (table->len <= (guint)i)
        g_array_append_val(table, unknown);
    return &g_array_index(table, double, i);
}

/* What every token asks for alike, of so many. */
static double tokens_s(RhIterations *it, int32_t tokens)
{
    double *known = remembered(it->tokens_s, tokens);
    if (tokens > 0 && isnan(*known)) {
        RhShard shard = prompt_shard(it, tokens, 0);
        double s =
            layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
            block_s(it, NULL, RH_BLOCK_EMBEDDING, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
            exchanges_s(it, &shard);
        *remembered(it->tokens_s, tokens) = s;
        return s;
    }
    return tokens > 0 ? *known : 0;
}

/* The head, of the last token of so many sequences; every rank has its words' logits, which one
 * gathers. */
static double logits_s(RhIterations *it, int32_t sequences)
{
    double *known = remembered(it->logits_s, sequences);
    if (sequences > 0 && isnan(*known)) {
        RhShard shard = decode_shard(it, sequences, 1);
        double bytes = (double)sequences * (double)it->model->vocab;
        double s =
            block_s(it, NULL, RH_BLOCK_HEAD, RH_PASS_DECODE, &shard, RH_KERNELS_EACH_TOKEN) +
            exchange_s(it, RH_OP_ALL_GATHER, it->pool.tp, bytes * rh_dtype_bytes(it->shard.dtype));
        *known = s;
        return s;
    }
    return sequences > 0 ? *known : 0;
}

static double chunk_s(RhIterations *it, const RhChunk *chunk)
{
    RhShard shard = prompt_shard(it, chunk->tokens, chunk->cached);
    return layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_CORE);
}

static int64_t node_context(int32_t node)
{
    int32_t octave = node / NODES_PER_OCTAVE, part = node % NODES_PER_OCTAVE;
    return (INT64_C(1) << octave) * (NODES_PER_OCTAVE + part) / NODES_PER_OCTAVE;
}

/* The last node at or below a context of at least NODES_PER_OCTAVE tokens. */
static int32_t node_below(double context)
{
    int exponent;
    double mantissa = frexp(fmax(context, NODES_PER_OCTAVE), &exponent); /* in [0.5, 1) */
    int32_t part = (int32_t)((mantissa - 0.5) * 2 * NODES_PER_OCTAVE);
    return MIN((exponent - 1) * NODES_PER_OCTAVE + part, NODES - 2);
}

static double node_s(RhIterations *it, int32_t sequences, int32_t node)
{
    if ((guint)sequences >= it->decode_s->len)
        g_ptr_array_set_size(it->decode_s, sequences + 1);
    double *row = g_ptr_array_index(it->decode_s, sequences);
    if (!row) {
        row = g_new(double, NODES);
        for (int i = 0; i < NODES; i++)
            row[i] = (double)NAN;
        g_ptr_array_index(it->decode_s, sequences) = row;
    }
    if (isnan(row[node])) {
        RhShard shard = decode_shard(it, sequences, node_context(node));
        row[node] = layers_s(it, RH_PASS_DECODE, &shard, RH_KERNELS_CORE);
    }
    return row[node];
}

/* A line: seconds at this mean context, and for each token more; *until: where it ends. */
static double decode_line(RhIterations *it, int32_t sequences, double context, double *slope,
                          double *until)
{
    int32_t node = node_below(context);
    double low = (double)node_context(node), high = (double)node_context(node + 1);
    double at_low = node_s(it, sequences, node), at_high = node_s(it, sequences, node + 1);
    *slope = (at_high - at_low) / (high - low);
    *until = high;
    return at_low + *slope * (context - low);
}

static double host_s(const RhIterations *it, int32_t sequences)
{
    const RhServer *s = it->server;
    return s->step_s.value + s->rank_step_s.value * log2(it->pool.tp) +
           s->sequence_s.value * sequences;
}

static double with_host(const RhIterations *it, double device_s, int32_t sequences)
{
    double host = host_s(it, sequences);
    return it->server->host_beside ? fmax(device_s, host) : device_s + host;
}

/* --- Iterations --- */

/* Groups that share a server's sequences: replicas of attention, which wait for one another in every
 * layer, and batches that follow one another through a pipeline, each of them once a round. An iteration
 * is a round, and as long as its longest group. */
static int32_t groups_of(const RhIterations *it)
{
    return it->pool.dp * it->pool.pp;
}

static int32_t share_of(const RhIterations *it, int32_t count)
{
    int32_t groups = groups_of(it);
    return (count + groups - 1) / groups;
}

typedef struct {
    double tokens_s, logits_s, chunks_s, decode_s, draft_s;
    int32_t sequences; /* of all groups */
    bool prompts;
} Parts;

/* Chunks go to the group that has the fewest tokens of chunks so far; what the fullest has. */
static int32_t deal_chunks(RhIterations *it, const RhBatch *b, double *chunks_s)
{
    int32_t groups = MIN(groups_of(it), MAX(b->chunks_count, 1)), fullest = 0;
    g_autofree int32_t *tokens = g_new0(int32_t, groups);
    g_autofree double *seconds = g_new0(double, groups);
    for (int32_t i = 0; i < b->chunks_count; i++) {
        int32_t least = 0;
        for (int32_t g = 1; g < groups; g++)
            least = tokens[g] < tokens[least] ? g : least;
        tokens[least] += b->chunks[i].tokens;
        seconds[least] += chunk_s(it, &b->chunks[i]);
        fullest = MAX(fullest, tokens[least]);
        *chunks_s = fmax(*chunks_s, seconds[least]);
    }
    return fullest;
}

/* Of the model's layers, those that an iteration goes through to guess. */
static double drafted_share(const RhIterations *it)
{
    return (double)it->pool.draft * it->pool.drafter / it->model->layers_count;
}

/* What it takes to guess: one token after another, by layers like the model's and its head. */
static double draft_s(RhIterations *it, int32_t sequences, double decode_s)
{
    double layers_s = (tokens_s(it, sequences) + decode_s) * drafted_share(it);
    return layers_s > 0 ? layers_s + it->pool.draft * logits_s(it, sequences) : 0;
}

static Parts parts_of(RhIterations *it, const RhBatch *b)
{
    Parts p = {.sequences = b->decodes + b->ended, .prompts = b->chunks_count > 0};
    int32_t decodes = share_of(it, b->decodes), read = deal_chunks(it, b, &p.chunks_s);
    double slope, until;
    int32_t judged = rh_pool_judged(&it->pool);
    p.tokens_s = tokens_s(it, decodes * judged + read);
    p.logits_s = logits_s(it, share_of(it, b->decodes * judged + b->ended));
    if (b->decodes > 0)
        p.decode_s = decode_line(it, decodes, (double)b->contexts / b->decodes, &slope, &until);
    p.draft_s = draft_s(it, decodes, p.decode_s);
    return p;
}

static double device_s(const RhIterations *it, const Parts *p)
{
    double by_prompts = p->tokens_s + p->chunks_s;
    return (p->prompts ? by_prompts / it->server->prompt_frac.value : by_prompts) + p->logits_s +
           p->decode_s + p->draft_s;
}

double rh_iteration_s(RhIterations *it, const RhBatch *batch)
{
    Parts p = parts_of(it, batch);
    return with_host(it, device_s(it, &p), p.sequences);
}

RhDecodeRun rh_iteration_run(RhIterations *it, int32_t decodes, int64_t contexts)
{
    double slope, until, mean = (double)contexts / decodes;
    int32_t share = share_of(it, decodes), judged = rh_pool_judged(&it->pool);
    double decode_s = decode_line(it, share, mean, &slope, &until);
    double device = tokens_s(it, share * judged) + logits_s(it, share_of(it, decodes * judged)) +
                    decode_s + draft_s(it, share, decode_s);
    slope *= rh_pool_given(&it->pool) * (1 + drafted_share(it));
    double tokens = until - mean;
    RhDecodeRun run = {
        .growth_s = slope,
        .steps = (int32_t)fmin(fmax(ceil(tokens / rh_pool_given(&it->pool)), 1), 1 << 20)};
    run.first_s = with_host(it, device, decodes);
    double host = host_s(it, decodes);
    if (it->server->host_beside && device < host) { /* flat until the kernels take longer */
        run.growth_s = 0;
        if (slope > 0)
            run.steps = (int32_t)fmin(run.steps, fmax(ceil((host - device) / slope), 1));
    }
    return run;
}

RhCost *rh_iteration_explain(RhIterations *it, const RhBatch *batch)
{
    Parts p = parts_of(it, batch);
    RhCost *root = rh_cost_new("iteration", rh_iteration_s(it, batch), "");
    double slower = p.prompts ? 1 / it->server->prompt_frac.value : 1;
    rh_cost_add(root, "every token", p.tokens_s * slower, "kernels and sums of all layers");
    rh_cost_add(root, "attention of prompts", p.chunks_s * slower, "");
    rh_cost_add(root, "attention of tokens", p.decode_s, "");
    rh_cost_add(root, "logits", p.logits_s, "");
    if (p.draft_s > 0)
        rh_cost_add(root, "guesses", p.draft_s, "");
    rh_cost_add(root, "host", root->value_s - device_s(it, &p), it->server->step_s.source);
    return root;
}

/* --- Memory --- */

/* Of an element of a linear layer's weights, as they lie in memory: one of the two layouts that training
 * holds beside them, where they are narrow. */
static double linear_bytes(const RhRecipe *recipe)
{
    return recipe->weight_copy_bytes > 0 ? recipe->weight_copy_bytes / 2 : recipe->operand_bytes;
}

static double params_bytes(const RhIterations *it, const RhLayerKind *kind, RhBlock block)
{
    RhParams p = rh_block_params(it->model, kind, block, &it->shard);
    double wide = rh_dtype_bytes(it->shard.dtype);
    double linear = kind && it->shard.recipe ? linear_bytes(it->shard.recipe) : wide;
    return (p.sharded + p.experts) * linear + p.replicated * wide;
}

static void sum_memory(RhIterations *it)
{
    const RhModel *m = it->model;
    double embedding = params_bytes(it, NULL, RH_BLOCK_EMBEDDING),
           head = params_bytes(it, NULL, RH_BLOCK_HEAD);
    for (int32_t k = 0; k < m->kinds_count; k++) {
        static const RhBlock blocks[] = {RH_BLOCK_MIXER, RH_BLOCK_FFN};
        for (size_t b = 0; b < G_N_ELEMENTS(blocks); b++) {
            RhCacheBytes kept = rh_block_cache_bytes(m, &m->kinds[k], blocks[b], &it->shard);
            it->weight_bytes += it->layers[k] * params_bytes(it, &m->kinds[k], blocks[b]);
            it->token_bytes += it->layers[k] * kept.token;
            it->sequence_bytes += it->layers[k] * kept.sequence;
        }
    }
    double drafter = it->pool.draft > 0 ? (double)it->pool.drafter / m->layers_count : 0;
    it->weight_bytes *= 1 + drafter;
    it->token_bytes *= 1 + drafter;
    it->sequence_bytes *= 1 + drafter;
    int32_t pp = it->pool.pp; /* stages are equal but for the ends, of which the larger counts */
    it->weight_bytes /= pp;
    it->token_bytes /= pp;
    it->sequence_bytes /= pp;
    it->weight_bytes += pp > 1               ? fmax(embedding, head)
                        : m->tied_embeddings ? embedding
                                             : embedding + head;
}

double rh_iterations_weight_bytes(const RhIterations *it)
{
    return it->weight_bytes;
}

double rh_iterations_token_bytes(const RhIterations *it)
{
    return it->token_bytes;
}

double rh_iterations_sequence_bytes(const RhIterations *it)
{
    return it->sequence_bytes;
}

const RhPlatform *rh_iterations_platform(const RhIterations *it)
{
    return it->platform;
}

/* --- Making --- */

static bool check_pool(const RhServing *s, const RhPool *pool, GError **error)
{
    const RhLayerKind *kind = rh_model_attention_kind(s->model);
    if (rh_pool_gpus(pool) > rh_platform_gpus(s->platform))
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs for a replica, and %s has %d",
                       rh_pool_gpus(pool), s->platform->name, rh_platform_gpus(s->platform));
    if (kind->both_ways || s->model->patch_entries > 0)
        return rh_fail(error, RH_ERROR_USAGE, "%s reads both ways: it makes no tokens",
                       s->model->name);
    if (s->recipe->linear != s->recipe->dtype &&
        s->platform->device->peak_flops_per_s[s->recipe->linear].value <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s has no units for %s", s->recipe->name,
                       s->platform->device->name, rh_dtype_name(s->recipe->linear));
    if (kind->heads > 0 && kind->heads % pool->tp != 0)
        return rh_fail(error, RH_ERROR_USAGE, "tp%d does not divide %d attention heads", pool->tp,
                       kind->heads);
    if (pool->ep != 1 && pool->ep != pool->tp * pool->dp)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "ep%d: experts are cut like the rest (ep1) or spread over all %d ranks of a stage",
            pool->ep, pool->tp * pool->dp);
    if (pool->dp > 1 && pool->ep == 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "dp%d is of attention beside shared experts\n"
                       "help: ep%d spreads them; of a model without experts use replicas",
                       pool->dp, pool->tp * pool->dp);
    if (pool->dp > 1 && !rh_model_experts_kind(s->model))
        return rh_fail(error, RH_ERROR_USAGE,
                       "dp%d: %s has no experts to share\nhelp: use replicas", pool->dp,
                       s->model->name);
    if (rh_platform_devices_count(s->platform) > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s has nodes of several devices: serving is planned on one",
                       s->platform->name);
    if (rh_model_sees_pictures(s->model))
        return rh_fail(error, RH_ERROR_USAGE, "%s sees pictures: it has no tokens to serve",
                       s->model->name);
    if (pool->pp > s->model->layers_count)
        return rh_fail(error, RH_ERROR_USAGE, "pp%d of %d layers", pool->pp,
                       s->model->layers_count);
    return true;
}

static RhShard shard_of(const RhServing *s, const RhPool *pool)
{
    RhCacheFormat cache =
        pool->cache != RH_CACHE_AUTO ? (RhCacheFormat)pool->cache : s->server->cache;
    return (RhShard){.tp = pool->tp,
                     .ep = pool->ep,
                     .etp = pool->ep > 1 ? 1 : 0,
                     .sequence = 1,
                     .microbatch = 1,
                     .dtype = s->recipe->dtype,
                     .recipe = s->recipe,
                     .cache_bytes = cache == RH_CACHE_FP8 ? 1 : 0,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true,
                     .fused_loss = true};
}

/* What tables of kernels call the format of linear layers. */
static const char *surface_format(const RhRecipe *recipe)
{
    static const struct {
        const RhRecipe *recipe;
        const char *format;
    } rows[] = {{&rh_recipe_fp8, "fp8"},
                {&rh_recipe_fp8_current, "fp8"},
                {&rh_recipe_fp8_block, "fp8_block"},
                {&rh_recipe_mxfp8, "fp8_block"},
                {&rh_recipe_nvfp4, "nvfp4"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].recipe == recipe)
            return rows[i].format;
    return NULL;
}

static bool is_blackwell(const RhDevice *device)
{
    return device->generation && strcmp(device->generation, "blackwell") == 0;
}

RhIterations *rh_iterations_new(const RhServing *s, const RhPool *pool, GError **error)
{
    if (!check_pool(s, pool, error))
        return NULL;
    g_autoptr(RhPlatform) platform = rh_platform_copy(s->platform);
    const char *profile = rh_server_profile(s->server, platform->device->name);
    if (profile && !platform->profile && !rh_platform_apply_profile(platform, profile, error))
        return NULL;
    RhIterations *it = g_new0(RhIterations, 1);
    it->model = s->model;
    it->server = s->server;
    it->platform = g_steal_pointer(&platform);
    it->pool = *pool;
    it->recipe = *s->recipe;
    if (it->recipe.cast_bytes > 0) /* read, and written in one layout */
        it->recipe.cast_bytes = rh_dtype_bytes(it->recipe.dtype) + it->recipe.operand_bytes;
    it->shard = shard_of(s, pool);
    it->shard.recipe = &it->recipe;
    rh_device_use_surfaces(it->platform->device, surface_format(s->recipe));
    it->norms_inside = pool->tp > 1 && s->server->reduce_norms &&
                       (!s->server->reduce_norms_new || is_blackwell(it->platform->device));
    it->casts_inside = rh_device_casts_inside(it->platform->device, s->recipe->linear);
    for (int32_t l = 0; l < s->model->layers_count; l++)
        it->layers[s->model->kind_of_layer[l]]++;
    it->tokens_s = g_array_new(FALSE, FALSE, sizeof(double));
    it->logits_s = g_array_new(FALSE, FALSE, sizeof(double));
    it->decode_s = g_ptr_array_new_with_free_func(g_free);
    it->kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    sum_memory(it);
    return it;
}

void rh_iterations_free(RhIterations *it)
{
    if (!it)
        return;
    rh_platform_free(it->platform);
    g_array_unref(it->tokens_s);
    g_array_unref(it->logits_s);
    g_ptr_array_unref(it->decode_s);
    g_array_unref(it->kernels);
    g_free(it);
}
