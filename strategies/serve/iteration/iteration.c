/* Computes the time of an iteration from its parts: kernels and exchanges. */
#include <math.h>

#include "strategies/serve/iteration/iteration_private.h"
#include "strategies/serve/iteration/speculation.h"

/* Times of decoding lie on a grid of contexts, four to an octave, with linear interpolation, so
 * that a run of iterations is a sum of linear functions. */
#define NODES_PER_OCTAVE 4
#define NODES            128 /* up to 2^32 tokens */

/* --- Sums over the model --- */

typedef enum { RH_KERNELS_EACH_TOKEN, RH_KERNELS_CORE } RhKernelsOf;

/* Is the kernel's time part of another's? Casts of operands may be within the times of GEMMs, as
 * the server's profile has them. The sum of the residual stream is made by the norm that reads it
 * (vLLM: fused_add_rms_norm; SGLang and TensorRT-LLM likewise), and both may be made by the kernel
 * that sums over tensor ranks. TensorRT, which runs models that make no tokens, makes activations
 * in the product before them (its Layer Fusion Catalog; PaddlePaddle/Paddle pull 38399: "fuse the
 * fc + gelu layer"). */
static bool is_inside(const RhIterations *it, const RhKernel *k, bool residual, bool norms)
{
    if (residual)
        return k->cls == RH_KERNEL_ADD || (k->cls == RH_KERNEL_NORM && norms);
    if (k->cls == RH_KERNEL_ACTIVATION && !it->makes_tokens)
        return true;
    return k->cls == RH_KERNEL_CAST && it->casts_inside;
}

static void record_kernel(const RhIterations *it, const RhKernel *k, double s)
{
    RhIterationKernels *sums = it->watched;
    double all_s = s * it->watched_times;
    sums->kernels_s += all_s;
    if (rh_extrapolation_untabled(it->platform->device, k))
        sums->untabled_s += all_s;
    else
        rh_extrapolation_add(sums->beyond, it->platform->device, k, all_s);
}

/* Time of the listed kernels. The first `residual` ones are of the residual stream; `norms`: these
 * are part of the sums over tensor ranks. */
static double kernels_s(const RhIterations *it, guint residual, bool norms, RhKernelsOf of)
{
    double s = 0;
    for (guint i = 0; i < it->kernels->len; i++) {
        const RhKernel *k = &g_array_index(it->kernels, RhKernel, i);
        if (k->core != (of == RH_KERNELS_CORE) || is_inside(it, k, i < residual, norms))
            continue;
        double kernel_s = rh_kernel_time_s(it->platform->device, k);
        if (it->watched)
            record_kernel(it, k, kernel_s);
        s += kernel_s;
    }
    return s;
}

static double block_s(RhIterations *it, const RhLayerKind *kind, RhBlock block, RhPass pass,
                      const RhShard *shard, RhKernelsOf of)
{
    RhShard own = block == RH_BLOCK_FFN ? rh_iteration_experts_shard(shard) : *shard;
    g_array_set_size(it->kernels, 0);
    rh_block_kernels(it->model, kind, block, RH_PART_SEQUENCE, pass, shard, it->kernels);
    guint residual = kind ? it->kernels->len : 0;
    rh_block_kernels(it->model, kind, block, RH_PART_TENSOR, pass, &own, it->kernels);
    bool norms = rh_iteration_hidden_bytes(it, (int32_t)rh_shard_tokens(shard)) <= it->norms_bytes;
    return kernels_s(it, residual, norms, of);
}

/* Time of a network. With uneven experts it is that of the slowest rank: the one with the highest
 * load or, as measured products do not always take longer with more rows, one with the mean load
 * (assumed to exist). */
static double ffn_s(RhIterations *it, const RhLayerKind *kind, RhPass pass, const RhShard *shard,
                    RhKernelsOf of)
{
    double s = block_s(it, kind, RH_BLOCK_FFN, pass, shard, of);
    RhShard even = *shard;
    even.load = NULL;
    bool uneven = shard->load && shard->load->kind != RH_LOAD_BALANCED && kind->experts > 0;
    return uneven ? fmax(s, block_s(it, kind, RH_BLOCK_FFN, pass, &even, of)) : s;
}

static double layers_s(RhIterations *it, RhPass pass, const RhShard *shard, RhKernelsOf of)
{
    double s = 0;
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        const RhLayerKind *kind = &it->model->kinds[k];
        if (it->layers[k] > 0)
            s += it->layers[k] * (block_s(it, kind, RH_BLOCK_MIXER, pass, shard, of) +
                                  ffn_s(it, kind, pass, shard, of));
    }
    return s;
}

/* --- Parts of an iteration --- */

static RhShard decode_shard(const RhIterations *it, int32_t sequences, int64_t context)
{
    RhShard shard = it->shard;
    shard.microbatch = sequences;
    shard.sequence = context;
    return shard;
}

/* Tokens and sequences beyond which times are not remembered: a server's iterations are smaller,
 * and whole prompts of millions of tokens, which bounds ask for, would make the tables the larger
 * part of this process. */
#define REMEMBERED_MOST (1 << 20)

/* NaN: not known yet. */
static double recall(const GArray *table, int32_t i)
{
    return (guint)i < table->len ? g_array_index(table, double, i) : (double)NAN;
}

static double remember(GArray *table, int32_t i, double s)
{
    if (i > REMEMBERED_MOST)
        return s;
    guint known = table->len;
    if (known <= (guint)i)
        g_array_set_size(table, (guint)i + 1);
    for (guint k = known; k < table->len; k++)
        g_array_index(table, double, k) = (double)NAN;
    return g_array_index(table, double, i) = s;
}

/* Time of exchanges between ranks for so many tokens. */
static double tokens_exchange_s(RhIterations *it, int32_t tokens)
{
    if (tokens <= 0)
        return 0;
    double known_s = recall(it->exchanges_s, tokens);
    if (!isnan(known_s))
        return known_s;
    RhShard shard = rh_iteration_prompt_shard(it, tokens, 0);
    return remember(it->exchanges_s, tokens, rh_iteration_shard_exchanges_s(it, &shard));
}

/* Time of the part that is the same for every token, for so many: kernels, and exchanges between
 * ranks. */
static double tokens_s(RhIterations *it, int32_t tokens)
{
    if (tokens <= 0)
        return 0;
    double known_s = recall(it->tokens_s, tokens);
    if (!isnan(known_s))
        return known_s;
    RhShard shard = rh_iteration_prompt_shard(it, tokens, 0);
    double s =
        layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
        block_s(it, NULL, RH_BLOCK_EMBEDDING, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
        tokens_exchange_s(it, tokens);
    return remember(it->tokens_s, tokens, s);
}

/* Time of the head, for the last token of so many sequences; every rank has its words' logits. */
static double logits_s(RhIterations *it, int32_t sequences)
{
    if (sequences <= 0)
        return 0;
    double known_s = recall(it->logits_s, sequences);
    if (!isnan(known_s))
        return known_s;
    RhShard shard = decode_shard(it, sequences, 1);
    double s = block_s(it, NULL, RH_BLOCK_HEAD, RH_PASS_DECODE, &shard, RH_KERNELS_EACH_TOKEN) +
               rh_iteration_gather_s(it, sequences);
    return remember(it->logits_s, sequences, s);
}

/* Chunks of prompts that one attention kernel reads: sums over them. */
typedef struct {
    double tokens;
    double squares; /* of tokens */
    double cached;  /* of tokens x cached ones */
} Prompts;

static void add_chunk(Prompts *p, const RhChunk *chunk)
{
    double tokens = chunk->tokens;
    p->tokens += tokens;
    p->squares += tokens * tokens;
    p->cached += tokens * chunk->cached;
}

/* Returns the shard of so many equal chunks of the same tokens and cached ones. */
static RhShard equal_chunks(const RhIterations *it, const Prompts *p, int32_t count)
{
    RhShard shard = rh_iteration_prompt_shard(it, (int32_t)lround(p->tokens / count),
                                              (int32_t)lround(p->cached / p->tokens));
    shard.microbatch = count;
    return shard;
}

/* Number of equal chunks with the same tokens and pairs of a query and a key. */
static double equal_count(const Prompts *p)
{
    return p->tokens * p->tokens / p->squares;
}

static double equal_chunks_s(RhIterations *it, const Prompts *p, int32_t count)
{
    RhShard shard = equal_chunks(it, p, count);
    return layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_CORE);
}

/* Time of the kernels between tokens of prompts: engines start one for all chunks of an iteration,
 * as long as one for equal chunks of the same tokens and pairs; between two whole numbers of them
 * the time is interpolated. */
static double prompts_s(RhIterations *it, const Prompts *p)
{
    if (p->tokens <= 0)
        return 0;
    double count = equal_count(p), low = floor(count + 1e-9), more = count - low;
    double s = equal_chunks_s(it, p, (int32_t)low);
    return more < 1e-6 ? s : s + more * (equal_chunks_s(it, p, (int32_t)low + 1) - s);
}

static int64_t node_context(int32_t node)
{
    int32_t octave = node / NODES_PER_OCTAVE, part = node % NODES_PER_OCTAVE;
    return (INT64_C(1) << octave) * (NODES_PER_OCTAVE + part) / NODES_PER_OCTAVE;
}

/* Last grid point at or below a context of at least NODES_PER_OCTAVE tokens. */
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

/* Linear function: seconds at this mean context, and per further token; *until: where it ends. */
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

/* Host's time per iteration: one host for all groups of attention, or one for each, with its own
 * sequences. */
static double host_s(const RhIterations *it, int32_t sequences)
{
    const RhServer *s = it->server;
    int32_t hosts = s->host_each ? it->pool.dp : 1, own = (sequences + hosts - 1) / hosts;
    return s->step_s.value + s->rank_step_s.value * log2(it->pool.tp) + s->sequence_s.value * own;
}

static double with_host(const RhIterations *it, double device_s, int32_t sequences)
{
    double host = host_s(it, sequences);
    double own_s = it->pool.prefetch_off ? device_s + it->stream_s : fmax(device_s, it->stream_s);
    return it->server->host_beside ? fmax(own_s, host) : own_s + host;
}

/* --- Iterations --- */

/* Groups that share a server's sequences: replicas of attention, which wait for each other in every
 * layer, and batches that follow one another through a pipeline, each of them once a round. An
 * iteration is a round, and as long as its longest group. */
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
    double tokens_s, exchange_s, logits_s, chunks_s, decode_s,
        draft_s;       /* exchange_s is part of tokens_s */
    int32_t sequences; /* of all groups */
    bool prompts;
} Parts;

/* Distributes chunks, each to the group with the fewest tokens so far; returns the tokens of the
 * fullest group. */
static int32_t deal_chunks(RhIterations *it, const RhBatch *b, double *chunks_s)
{
    int32_t groups = MIN(groups_of(it), MAX(b->chunks_count, 1));
    g_autofree Prompts *read = g_new0(Prompts, groups);
    for (int32_t i = 0; i < b->chunks_count; i++) {
        int32_t least = 0;
        for (int32_t g = 1; g < groups; g++)
            least = read[g].tokens < read[least].tokens ? g : least;
        add_chunk(&read[least], &b->chunks[i]);
    }
    double fullest = 0;
    for (int32_t g = 0; g < groups; g++) {
        *chunks_s = fmax(*chunks_s, prompts_s(it, &read[g]));
        fullest = fmax(fullest, read[g].tokens);
    }
    return (int32_t)fullest;
}

/* Fraction of the model's layers that draft tokens. */
static double drafted_share(const RhIterations *it)
{
    return (double)it->pool.draft * it->pool.drafter / it->model->layers_count;
}

/* Time of drafting: one token after another, by layers like the model's and its head. */
static double draft_s(RhIterations *it, int32_t sequences, double decode_s)
{
    double layers_s = (tokens_s(it, sequences) + decode_s) * drafted_share(it);
    return layers_s > 0 ? layers_s + it->pool.draft * logits_s(it, sequences) : 0;
}

/* Time of a model that makes no tokens: one pass over the whole batch, as long as its longest
 * sequence (assumed: shorter ones are padded, as tokenizers do). Texts end with their hidden
 * states; pictures with classes. */
static double pass_s(RhIterations *it, const RhBatch *b)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < b->chunks_count; i++)
        longest = MAX(longest, b->chunks[i].tokens);
    int64_t count = b->chunks_count * (1 + it->pool.guidance), key = count << 32 | longest;
    const double *known = g_hash_table_lookup(it->passes_s, &key);
    if (known)
        return *known;
    RhShard shard = decode_shard(it, (int32_t)count, longest);
    bool pictures = rh_model_sees_pictures(it->model) || it->model->patch_entries > 0;
    double s =
        block_s(it, NULL, RH_BLOCK_EMBEDDING, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
        layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN) +
        layers_s(it, RH_PASS_PREFILL, &shard, RH_KERNELS_CORE) +
        rh_iteration_shard_exchanges_s(it, &shard);
    if (pictures)
        s += block_s(it, NULL, RH_BLOCK_HEAD, RH_PASS_PREFILL, &shard, RH_KERNELS_EACH_TOKEN);
    g_hash_table_insert(it->passes_s, g_memdup2(&key, sizeof key), g_memdup2(&s, sizeof s));
    return s;
}

static Parts parts_of(RhIterations *it, const RhBatch *b)
{
    if (!it->makes_tokens)
        return (Parts){.sequences = b->chunks_count, .prompts = true, .tokens_s = pass_s(it, b)};
    Parts p = {.sequences = b->decodes + b->ended, .prompts = b->chunks_count > 0};
    int32_t decodes = share_of(it, b->decodes), read = deal_chunks(it, b, &p.chunks_s);
    double slope, until;
    int32_t verified = rh_pool_verified(&it->pool);
    p.tokens_s = tokens_s(it, decodes * verified + read);
    p.exchange_s = p.prompts ? tokens_exchange_s(it, decodes * verified + read) : 0;
    p.logits_s = logits_s(it, share_of(it, b->decodes * verified + b->ended));
    if (b->decodes > 0)
        p.decode_s = decode_line(it, decodes, (double)b->contexts / b->decodes, &slope, &until);
    p.draft_s = draft_s(it, decodes, p.decode_s);
    return p;
}

/* Time of the part that is the same for every token. The lower clock while prompts are read slows
 * kernels down, but not the links between ranks. */
static double every_token_s(const RhIterations *it, const Parts *p)
{
    double slower = p->prompts ? 1 / it->server->prompt_frac.value : 1;
    return (p->tokens_s - p->exchange_s) * slower + p->exchange_s;
}

static double chunks_s(const RhIterations *it, const Parts *p)
{
    return p->chunks_s / it->server->prompt_frac.value;
}

/* Kernels of a layer as the operators of Llama-3.1-70B list them, whose launch a server's constant is of; and those of
 * an expert that is a module of its own (DeepSpeed, moe/experts.py: two products with an activation between them). */
#define LAYER_KERNELS  11
#define EXPERT_KERNELS 3

/* Layers' worth of launches that experts add where each is called by itself, whether tokens came to it or not. */
static double expert_layers(const RhIterations *it)
{
    double kernels = 0;
    for (int32_t k = 0; it->server->experts_apart && k < it->model->kinds_count; k++)
        kernels +=
            EXPERT_KERNELS * (double)it->layers[k] * it->model->kinds[k].experts / it->pool.ep;
    return kernels / LAYER_KERNELS;
}

/* Time to launch the kernels of an iteration one by one, by the server's default or, where the
 * deployment says which iterations graphs hold, without a graph. Ranks wait for each other in every
 * layer, so the slowest host counts. */
static double launch_s(const RhIterations *it)
{
    const RhServer *s = it->server;
    bool eager = it->pool.graphs != RH_GRAPHS_AUTO;
    double layer_s = (eager ? s->eager_launch_s : s->launch_s).value,
           rank_s = (eager ? s->rank_eager_launch_s : s->rank_launch_s).value;
    double layers = (double)it->model->layers_count / it->pool.pp + expert_layers(it);
    return (layer_s + rank_s * log2(it->pool.tp)) * layers;
}

/* Time to launch an iteration that only decodes: graphs hold it, unless there are none. */
static double decode_launch_s(const RhIterations *it)
{
    return it->pool.graphs == RH_GRAPHS_NONE ? launch_s(it) : 0;
}

static double device_s(const RhIterations *it, const Parts *p)
{
    double s = every_token_s(it, p) + chunks_s(it, p) + p->logits_s + p->decode_s + p->draft_s;
    return fmax(s, p->prompts ? launch_s(it) : decode_launch_s(it));
}

double rh_iteration_s(RhIterations *it, const RhBatch *batch)
{
    Parts p = parts_of(it, batch);
    return MAX(it->pool.passes, 1) * with_host(it, device_s(it, &p), p.sequences);
}

RhDecodeRun rh_iteration_run(RhIterations *it, int32_t decodes, int64_t contexts)
{
    double slope, until, mean = (double)contexts / decodes;
    int32_t share = share_of(it, decodes), verified = rh_pool_verified(&it->pool);
    double decode_s = decode_line(it, share, mean, &slope, &until);
    double device = tokens_s(it, share * verified) +
                    logits_s(it, share_of(it, decodes * verified)) + decode_s +
                    draft_s(it, share, decode_s);
    slope *= rh_pool_accepted(&it->pool) * (1 + drafted_share(it));
    double tokens = until - mean;
    RhDecodeRun run = {
        .growth_s = slope,
        .steps = (int32_t)fmin(fmax(ceil(tokens / rh_pool_accepted(&it->pool)), 1), 1 << 20)};
    double launched_s = decode_launch_s(it);
    run.first_s = with_host(it, fmax(device, launched_s), decodes);
    double least_s = fmax(fmax(it->pool.prefetch_off ? 0 : it->stream_s, launched_s),
                          it->server->host_beside ? host_s(it, decodes) : 0);
    if (device < least_s) { /* constant until the kernels take longer */
        run.growth_s = 0;
        if (slope > 0)
            run.steps = (int32_t)fmin(run.steps, fmax(ceil((least_s - device) / slope), 1));
    }
    return run;
}

/* --- iterations over kernels --- */

/* Runs all layers once, layer by layer of a kind, so that the kernels timed on the way are
 * recorded. */
static void add_layers(RhIterations *it, RhPass pass, const RhShard *shard, RhKernelsOf of,
                       double times)
{
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        const RhLayerKind *kind = &it->model->kinds[k];
        it->watched_times = times * it->layers[k];
        if (it->layers[k] == 0)
            continue;
        block_s(it, kind, RH_BLOCK_MIXER, pass, shard, of);
        block_s(it, kind, RH_BLOCK_FFN, pass, shard, of);
    }
}

void rh_iteration_add_kernels(RhIterations *it, const RhBatch *b, double times,
                              RhIterationKernels *sums)
{
    int32_t decodes = share_of(it, b->decodes);
    Prompts read = {0};
    for (int32_t i = 0; i < b->chunks_count; i++)
        add_chunk(&read, &b->chunks[i]);
    it->watched = sums;
    if (read.tokens > 0) {
        RhShard chunks = equal_chunks(it, &read, (int32_t)lround(equal_count(&read)));
        add_layers(it, RH_PASS_PREFILL, &chunks, RH_KERNELS_CORE, times);
    }
    if (decodes > 0) {
        RhShard tokens = decode_shard(it, decodes, b->contexts / b->decodes);
        add_layers(it, RH_PASS_DECODE, &tokens, RH_KERNELS_CORE, times);
    }
    RhShard all = rh_iteration_prompt_shard(
        it, decodes * rh_pool_verified(&it->pool) + (int32_t)read.tokens, 0);
    add_layers(it, RH_PASS_PREFILL, &all, RH_KERNELS_EACH_TOKEN, times);
    RhShard head = decode_shard(it, MAX(decodes + share_of(it, b->ended), 1), 1);
    it->watched_times = times;
    block_s(it, NULL, RH_BLOCK_HEAD, RH_PASS_DECODE, &head, RH_KERNELS_EACH_TOKEN);
    it->watched = NULL;
}
