#include "strategies/search/screen.h"

#include <math.h>
#include <string.h>

#include "sim/collective/collective.h"

/* --- Shard: a layer alone, its tensor-parallel collectives at idle speed --- */

/* Seconds of the collectives that blocks use. */
typedef struct {
    double gather_s, sum_s, entropy_s;
    double pace; /* speed of a kernel beside a collective, which holds SMs */
} TensorCosts;

static double collective_s(const RhCase *c, const RhProgram *p, RhOp op, double bytes)
{
    const RhGroup *g = rh_program_group(p, 0);
    g_autofree int32_t *nodes = g_new0(int32_t, g->size);
    RhAlgo algo = rh_collective_choose(op, g->size, nodes, bytes, c->platform, NULL);
    g_autoptr(RhSchedule) schedule = rh_schedule_new(op, algo, g->size, nodes, bytes, NULL);
    return rh_schedule_time_s(schedule, p, c->platform, 0, 0);
}

/* One node's worth of tensor-parallel groups: enough, for the groups never leave it. */
static RhProgram *tensor_program(const RhCase *c, int32_t tp)
{
    int32_t ranks = MIN(c->job.gpus, c->platform->gpus_per_node) / tp * tp;
    RhProgram *p = rh_program_new(ranks);
    RhSpan group = {1, tp}, all = {1, ranks};
    rh_program_add_group(p, "tp", &group, 1);
    rh_program_begin_role(p, "node", 0, &all, 1);
    rh_program_end_role(p);
    return p;
}

double rh_screen_held_frac(const RhCase *c)
{
    return CLAMP((double)c->platform->collective_sms / c->platform->device->sms_count, 0.0, 0.9);
}

static TensorCosts tensor_costs(const RhCase *c, const RhPieces *pieces)
{
    TensorCosts t = {.pace = 1 - rh_screen_held_frac(c)};
    bool sequence = pieces->shard.sequence_parallel;
    if (pieces->shard.tp == 1)
        return t;
    g_autoptr(RhProgram) p = tensor_program(c, pieces->shard.tp);
    double bytes = pieces->boundary_bytes;
    double tokens = (double)pieces->shard.sequence * (double)pieces->shard.microbatch;
    if (sequence)
        t.gather_s = collective_s(c, p, RH_OP_ALL_GATHER, bytes);
    t.sum_s = collective_s(c, p, sequence ? RH_OP_REDUCE_SCATTER : RH_OP_ALL_REDUCE, bytes);
    t.entropy_s = collective_s(c, p, RH_OP_ALL_REDUCE, 12 * tokens);
    return t;
}

/* Seconds a kernel of `work_s` takes when a collective starts with it: slower until that one ends.
 */
static double beside(const TensorCosts *t, double work_s, double other_s)
{
    return fmin(work_s / t->pace, work_s + other_s * (1 - t->pace));
}

static double forward_kernels(const RhBlockPieces *b)
{
    return b->sequence_forward.seconds + b->tensor_forward.seconds;
}

/* Kernels of a backward that are on the critical path: not those a longer collective hides. */
static double backward_kernels(const RhBlockPieces *b, const TensorCosts *t, double data_end,
                               double input_end)
{
    double weight = beside(t, b->weight.seconds, t->sum_s) >= t->sum_s ? b->weight.seconds : 0;
    return (data_end >= input_end ? b->data.seconds : 0) + weight + b->sequence_backward.seconds;
}

/* From the input gradient's start to the end: the sum runs beside the weight gradient (tensor.c).
 */
static double sum_beside_weight(const RhBlockPieces *b, const TensorCosts *t)
{
    return fmax(t->sum_s, beside(t, b->weight.seconds, t->sum_s)) + b->sequence_backward.seconds;
}

static RhSpanCost block_cost(const RhBlockPieces *b, const TensorCosts *t)
{
    double gather = t->gather_s;
    double data_end = gather + beside(t, b->data.seconds, t->gather_s);
    RhSpanCost cost = {.forward_kernels_s = forward_kernels(b),
                       .backward_kernels_s = backward_kernels(b, t, data_end, 2 * gather)};
    cost.forward_busy_s = forward_kernels(b) + gather;
    cost.forward_s = cost.forward_busy_s + t->sum_s;
    cost.backward_s = fmax(data_end, 2 * gather) + sum_beside_weight(b, t);
    return cost;
}

static RhSpanCost embedding_cost(const RhBlockPieces *b, const TensorCosts *t)
{
    double kernels = b->data.seconds + b->weight.seconds + b->sequence_backward.seconds;
    return (RhSpanCost){.forward_s = forward_kernels(b) + t->sum_s,
                        .forward_busy_s = forward_kernels(b),
                        .backward_s = t->gather_s + kernels,
                        .forward_kernels_s = forward_kernels(b),
                        .backward_kernels_s = kernels};
}

static RhSpanCost head_cost(const RhBlockPieces *b, const TensorCosts *t)
{
    double busy = forward_kernels(b) + t->gather_s;
    double data_end = beside(t, b->data.seconds, t->gather_s);
    return (RhSpanCost){.forward_s = busy + t->entropy_s,
                        .forward_busy_s = busy,
                        .backward_s = fmax(data_end, t->gather_s) + sum_beside_weight(b, t),
                        .forward_kernels_s = forward_kernels(b),
                        .backward_kernels_s = backward_kernels(b, t, data_end, t->gather_s)};
}

RhSpanCost rh_span_add(RhSpanCost a, RhSpanCost b, double times)
{
    return (RhSpanCost){a.forward_s + times * b.forward_s,
                        a.forward_s + (times - 1) * b.forward_s + b.forward_busy_s,
                        a.backward_s + times * b.backward_s,
                        a.forward_kernels_s + times * b.forward_kernels_s,
                        a.backward_kernels_s + times * b.backward_kernels_s};
}

static void spans_free(void *data)
{
    RhSpans *s = data;
    g_free(s->chunk);
    g_free(s->fill_s);
    g_free(s);
}

static RhShardCost *shard_new(const RhCase *c, const RhLayout *layout)
{
    RhShardCost *s = g_new0(RhShardCost, 1);
    s->pieces = rh_pieces_new(c, layout);
    TensorCosts t = tensor_costs(c, s->pieces);
    for (int k = 0; k < c->model->kinds_count; k++) {
        RhSpanCost mixer = block_cost(&s->pieces->mixer[k], &t),
                   ffn = block_cost(&s->pieces->ffn[k], &t);
        s->layer[k] = rh_span_add(mixer, ffn, 1);
        if (layout->recompute == RH_RECOMPUTE_FULL) {
            s->layer[k].backward_s += mixer.forward_s + ffn.forward_busy_s;
            s->layer[k].backward_kernels_s += mixer.forward_kernels_s + ffn.forward_kernels_s;
        }
    }
    s->embedding = embedding_cost(&s->pieces->embedding, &t);
    s->head = head_cost(&s->pieces->head, &t);
    s->spans = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, spans_free);
    return s;
}

static void shard_free(void *data)
{
    RhShardCost *s = data;
    g_hash_table_destroy(s->spans);
    rh_pieces_free(s->pieces);
    g_free(s);
}

/* --- Split --- */

static RhSplit *split_new(const RhCase *c, const RhLayout *l)
{
    RhSplit *s = g_new0(RhSplit, 1);
    s->chunks = l->pp * l->vpp;
    s->layers = g_new0(int32_t, s->chunks);
    s->first = g_new0(int32_t, s->chunks);
    s->kinds = g_malloc0((size_t)s->chunks * sizeof(*s->kinds));
    for (int32_t g = 0; g < s->chunks; g++) {
        rh_train_chunk_layers(c, l, g, &s->first[g], &s->layers[g]);
        for (int32_t i = s->first[g]; i < s->first[g] + s->layers[g]; i++)
            s->kinds[g][c->model->kind_of_layer[i]]++;
    }
    return s;
}

static void split_free(void *data)
{
    RhSplit *s = data;
    g_free(s->layers);
    g_free(s->first);
    g_free(s->kinds);
    g_free(s);
}

/* --- Spans --- */

static RhSpanCost chunk_cost(const RhShardCost *shard, const RhSplit *split, int32_t g)
{
    RhSpanCost sum = {0};
    if (g == 0)
        sum = shard->embedding;
    for (int k = 0; k < shard->pieces->c->model->kinds_count; k++)
        if (split->kinds[g][k])
            sum = rh_span_add(sum, shard->layer[k], split->kinds[g][k]);
    return g == split->chunks - 1 ? rh_span_add(sum, shard->head, 1) : sum;
}

static double chunk_params(const RhShardCost *shard, const RhSplit *split, const RhLayout *l,
                           int32_t g)
{
    double params = g == 0 ? rh_embedding_params(shard->pieces, l) : 0;
    for (int k = 0; k < shard->pieces->c->model->kinds_count; k++)
        params += split->kinds[g][k] * shard->pieces->layer_params[k];
    return params + (g == split->chunks - 1 ? rh_head_params(shard->pieces, l) : 0);
}

static RhSpans *spans_new(const RhShardCost *shard, const RhSplit *split, const RhLayout *l)
{
    RhSpans *s = g_new0(RhSpans, 1);
    double *rows = g_new0(double, (size_t)l->pp * 5);
    s->chunk = g_new(RhSpanCost, split->chunks);
    s->fill_s = rows;
    s->drain_s = rows + l->pp;
    s->work_s = rows + 2 * l->pp;
    s->backward_s = rows + 3 * l->pp;
    s->params = rows + 4 * l->pp;
    for (int32_t g = 0; g < split->chunks; g++) {
        RhSpanCost cost = s->chunk[g] = chunk_cost(shard, split, g);
        s->work_s[g % l->pp] += cost.forward_busy_s + cost.backward_s;
        s->backward_s[g % l->pp] += cost.backward_s;
        s->forward_all_s += cost.forward_s;
        s->backward_all_s += cost.backward_s;
        s->params[g % l->pp] += chunk_params(shard, split, l, g);
    }
    for (int32_t stage = 1; stage < l->pp; stage++) {
        s->fill_s[stage] = s->fill_s[stage - 1] + s->chunk[stage - 1].forward_s;
        s->drain_s[stage] = s->drain_s[stage - 1] + s->chunk[stage - 1].backward_s;
    }
    return s;
}

const RhSpans *rh_screen_spans(RhScreen *screen, const RhShardCost *shard, const RhSplit *split,
                               const RhLayout *l)
{
    if (screen->spans_shard == shard && screen->spans_split == split)
        return screen->spans;
    RhSpans *found = g_hash_table_lookup(shard->spans, split);
    if (!found)
        g_hash_table_insert(shard->spans, (void *)(uintptr_t)split,
                            found = spans_new(shard, split, l));
    screen->spans_shard = shard;
    screen->spans_split = split;
    return screen->spans = found;
}

double rh_screen_optimizer_s(const RhCase *c, const RhLayout *l, double params)
{
    double share = params / (l->zero >= 1 ? l->dp : 1);
    return c->stack->optimizer_bytes.value * share / c->platform->device->hbm_bytes_per_s.value;
}

/* --- Net --- */

/* The luckiest rank's message from stage `from` to stage `to`: every rank's takes at least this. */
static void hop(const RhCase *c, const RhProgram *p, int32_t from, int32_t to, double *latency_s,
                double *s_per_byte)
{
    const RhRole *a = rh_program_role(p, from), *b = rh_program_role(p, to);
    int32_t delta = b->first_rank - a->first_rank;
    *latency_s = *s_per_byte = (double)INFINITY;
    for (int32_t i = 0; i < a->ranks_count; i++) {
        int32_t rank = rh_role_rank(a, i);
        RhLink links[RH_ROUTE_MAX];
        int32_t src = rh_program_gpu(p, rank), dst = rh_program_gpu(p, rank + delta);
        int n = rh_platform_route(c->platform, src, dst, links);
        double slowest = (double)INFINITY;
        for (int k = 0; k < n; k++)
            slowest = fmin(slowest, rh_platform_link_bytes_per_s(c->platform, links[k]));
        *latency_s = fmin(*latency_s, rh_platform_route_latency_s(c->platform, src, dst));
        *s_per_byte = fmin(*s_per_byte, 1 / slowest);
    }
}

/* Reduce-scatter, whatever the algorithm: a node (or a GPU) must send its partial sums of all that
 * others keep. */
static double reduce_bound(const RhCase *c, const RhProgram *p, int32_t group)
{
    if (group < 0)
        return 0;
    const RhGroup *g = rh_program_group(p, group);
    g_autofree int32_t *members = g_new(int32_t, g->size);
    rh_group_members(g, 0, members);
    int32_t first_node = rh_platform_node_of(c->platform, rh_program_gpu(p, members[0])), here = 0;
    for (int32_t i = 0; i < g->size; i++)
        here += rh_platform_node_of(c->platform, rh_program_gpu(p, members[i])) == first_node;
    if (here == g->size)
        return (g->size - 1.0) / g->size /
               (c->platform->nvlink_bytes_per_s.value * c->platform->nvlink_efficiency_frac.value);
    double nic = c->platform->nic_bytes_per_s.value * c->platform->nic_efficiency_frac.value;
    return (1.0 - (double)here / g->size) / (MIN(here, c->platform->nics_per_node) * nic);
}

static void sum_hops(RhNet *n, int32_t pp)
{
    for (int32_t s = 0; pp > 1 && s < pp; s++) {
        int32_t next = (s + 1) % pp;
        n->edge_latency_s[s] = fmin(n->hop_latency_s[s], n->back_latency_s[next]);
        n->edge_s_per_byte[s] = fmin(n->hop_s_per_byte[s], n->back_s_per_byte[next]);
        n->round_latency_s += n->hop_latency_s[s] + n->back_latency_s[s];
        n->round_s_per_byte += n->hop_s_per_byte[s] + n->back_s_per_byte[s];
    }
    n->wrap_latency_s = n->hop_latency_s[pp - 1] + n->back_latency_s[0];
    n->wrap_s_per_byte = n->hop_s_per_byte[pp - 1] + n->back_s_per_byte[0];
}

static RhNet *net_new(const RhCase *c, const RhLayout *l)
{
    RhNet *n = g_new0(RhNet, 1);
    n->skeleton = rh_train_skeleton(c, l, &n->tp_group, &n->dp_group);
    double *hops = g_new0(double, (size_t)l->pp * 6);
    n->hop_latency_s = hops;
    n->hop_s_per_byte = hops + l->pp;
    n->back_latency_s = hops + 2 * l->pp;
    n->back_s_per_byte = hops + 3 * l->pp;
    n->edge_latency_s = hops + 4 * l->pp;
    n->edge_s_per_byte = hops + 5 * l->pp;
    for (int32_t s = 0; l->pp > 1 && s < l->pp; s++) {
        int32_t next = (s + 1) % l->pp, previous = (s + l->pp - 1) % l->pp;
        hop(c, n->skeleton, s, next, &n->hop_latency_s[s], &n->hop_s_per_byte[s]);
        hop(c, n->skeleton, s, previous, &n->back_latency_s[s], &n->back_s_per_byte[s]);
    }
    sum_hops(n, l->pp);
    n->reduce_s_per_byte = reduce_bound(c, n->skeleton, n->dp_group);
    return n;
}

static void net_free(void *data)
{
    RhNet *n = data;
    rh_program_free(n->skeleton);
    g_free(n->hop_latency_s);
    g_free(n);
}

/* --- look-up --- */

/* Degrees and sizes are below 2^20 (rh_layout_parse); three of them and some flags fill a key. */
static void *key_of(uint64_t a, uint64_t b, uint64_t c, uint64_t flags)
{
    return GSIZE_TO_POINTER((a << 44) ^ (b << 24) ^ (c << 4) ^ flags ^ 1);
}

#define LOOK_UP(memo, wanted, make)                                                                \
    if ((memo).key != (wanted)) {                                                                  \
        void *found = g_hash_table_lookup((memo).table, (wanted));                                 \
        if (!found)                                                                                \
            g_hash_table_insert((memo).table, (wanted), found = (make));                           \
        (memo).key = (wanted);                                                                     \
        (memo).value = found;                                                                      \
    }                                                                                              \
    return (memo).value

const RhShardCost *rh_screen_shard(RhScreen *s, const RhLayout *l)
{
    void *key = key_of((uint64_t)l->tp, (uint64_t)l->microbatch, (uint64_t)l->recompute,
                       (uint64_t)l->sequence_parallel << 1);
    LOOK_UP(s->shards, key, shard_new(s->c, l));
}

const RhSplit *rh_screen_split(RhScreen *s, const RhLayout *l)
{
    void *key = key_of((uint64_t)l->pp, (uint64_t)l->vpp, 0, 0);
    LOOK_UP(s->splits, key, split_new(s->c, l));
}

const RhNet *rh_screen_net(RhScreen *s, const RhLayout *l)
{
    void *key = key_of((uint64_t)l->tp, (uint64_t)l->pp, (uint64_t)l->dp, (uint64_t)l->order << 1);
    LOOK_UP(s->nets, key, net_new(s->c, l));
}

typedef struct {
    const RhNet *net;
    int32_t stage;
    RhOp op;
    double bytes;
} CollectiveKey;

static guint collective_hash(const void *key)
{
    const CollectiveKey *k = key;
    return g_direct_hash(k->net) ^ (guint)(k->stage * 31 + (int)k->op) ^ g_double_hash(&k->bytes);
}

static gboolean collective_equal(const void *a, const void *b)
{
    const CollectiveKey *x = a, *y = b;
    return x->net == y->net && x->stage == y->stage && x->op == y->op && x->bytes == y->bytes;
}

static double collective_time(RhScreen *s, const RhNet *net, int32_t stage, RhOp op, double bytes)
{
    const RhGroup *g = rh_program_group(net->skeleton, net->dp_group);
    const RhRole *role = rh_program_role(net->skeleton, stage);
    RhAlgo algo = rh_train_algorithm(s->c, net->skeleton, net->dp_group, op, bytes);
    g_autofree int32_t *nodes =
        rh_train_group_nodes(s->c, net->skeleton, net->dp_group, role->first_rank);
    g_autoptr(RhSchedule) schedule = rh_schedule_new(op, algo, g->size, nodes, bytes, NULL);
    return rh_schedule_time_s(schedule, net->skeleton, s->c->platform, net->dp_group, stage);
}

double rh_screen_collective_s(RhScreen *s, const RhNet *net, int32_t stage, RhOp op, double bytes)
{
    if (net->dp_group < 0 || bytes <= 0)
        return 0;
    CollectiveKey key = {net, stage, op, bytes};
    double *found = g_hash_table_lookup(s->collectives, &key);
    if (!found) {
        found = g_new(double, 1);
        *found = collective_time(s, net, stage, op, bytes);
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof(key)), found);
    }
    return *found;
}

double rh_screen_latency_s(RhScreen *s, const RhNet *net, int32_t stage, RhOp op)
{
    return rh_screen_collective_s(s, net, stage, op, 1);
}

RhScreen *rh_screen_new(const RhCase *c)
{
    RhScreen *s = g_new0(RhScreen, 1);
    s->c = c;
    s->shards.table = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, shard_free);
    s->splits.table = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, split_free);
    s->nets.table = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, net_free);
    s->collectives = g_hash_table_new_full(collective_hash, collective_equal, g_free, g_free);
    return s;
}

void rh_screen_free(RhScreen *s)
{
    if (!s)
        return;
    g_hash_table_destroy(s->shards.table);
    g_hash_table_destroy(s->splits.table);
    g_hash_table_destroy(s->nets.table);
    g_hash_table_destroy(s->collectives);
    g_free(s);
}
