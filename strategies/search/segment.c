/* The segment graph: one node per stage, micro-batch, chunk and pass; longest path over the
 * schedule's order, messages and data-parallel collectives at idle speed. No sharing of links
 * between kinds of traffic, no SM sharing: a lower bound of the rehearsal, and equal to it where
 * nothing collides. */
#include <math.h>
#include <string.h>

#include "strategies/search/screen.h"
#include "strategies/train/schedule.h"

#define PARAM_BYTES 2.0

/* A unit with parameters of its own. */
typedef struct {
    RhSpanCost cost;
    double reduce_s;  /* ZeRO-2/3: its gradients' collective */
    double gather_s;  /* ZeRO-3 */
    double arrival_s; /* ZeRO-1/2: when its parameters are in */
    double params;
} Item;

typedef struct {
    Item *items;       /* forward order */
    int32_t *chunk_at; /* first item of each chunk, chunks + 1 entries */
    RhSlot *slots;
    int32_t next;  /* slot to run */
    int32_t *left; /* backwards left of each chunk */
    double free_s; /* compute lane */
    double reduce_free_s, gather_free_s, send_free_s[2];
    double reduce_latency_s, gather_latency_s; /* ZeRO-3: of each collective, no bytes move */
    double bucket_params;
    int32_t *order; /* ZeRO-3: items in the order they run */
    int32_t order_count, position;
    double behind_s; /* ZeRO-3: when the item before ended its kernels */
} Stage;

typedef struct {
    RhScreen *screen;
    const RhLayout *l;
    const RhShardCost *shard;
    const RhSpans *spans;
    const RhSplit *split;
    const RhNet *net;
    int32_t m, total;
    double *arrival[2]; /* [backward][model chunk * m + micro-batch]; (double)NAN = not yet */
    Stage *stages;
} Graph;

static Item item_new(const Graph *g, int32_t stage, RhSpanCost cost, double params)
{
    Item item = {.cost = cost, .params = params};
    if (g->l->dp > 1 && g->l->zero >= 2)
        item.reduce_s = rh_screen_collective_s(g->screen, g->net, stage, RH_OP_REDUCE_SCATTER,
                                               PARAM_BYTES * params);
    if (g->l->dp > 1 && g->l->zero == 3)
        item.gather_s = rh_screen_collective_s(g->screen, g->net, stage, RH_OP_ALL_GATHER,
                                               PARAM_BYTES * params);
    return item;
}

static void list_items(const Graph *g, int32_t s, Stage *stage)
{
    const RhCase *c = g->screen->c;
    const RhPieces *pieces = g->shard->pieces;
    int32_t n = 0;
    for (int32_t chunk = 0; chunk < g->l->vpp; chunk++) {
        int32_t at = chunk * g->l->pp + s;
        stage->chunk_at[chunk] = n;
        if (at == 0)
            stage->items[n++] =
                item_new(g, s, g->shard->embedding, rh_embedding_params(pieces, g->l));
        for (int32_t i = 0; i < g->split->layers[at]; i++) {
            int kind = c->model->kind_of_layer[g->split->first[at] + i];
            stage->items[n++] = item_new(g, s, g->shard->layer[kind], pieces->layer_params[kind]);
        }
        if (at == g->split->chunks - 1)
            stage->items[n++] = item_new(g, s, g->shard->head, rh_head_params(pieces, g->l));
        stage->left[chunk] = g->m;
    }
    stage->chunk_at[g->l->vpp] = n;
}

/* ZeRO-1/2: parameters arrive bucket by bucket from the start of the step, as data.c sends them. */
static void gather_at_start(const Graph *g, int32_t s, Stage *stage)
{
    int32_t items = stage->chunk_at[g->l->vpp], first = 0;
    double bucket = rh_bucket_params(g->screen->c, g->l), collected = 0, t = 0;
    if (g->l->dp == 1 || (g->l->zero != 1 && g->l->zero != 2))
        return;
    for (int32_t i = 0; i < items; i++) {
        collected += stage->items[i].params;
        if (collected < bucket && i + 1 < items)
            continue;
        t +=
            rh_screen_collective_s(g->screen, g->net, s, RH_OP_ALL_GATHER, PARAM_BYTES * collected);
        for (; first <= i; first++)
            stage->items[first].arrival_s = t;
        stage->gather_free_s = t;
        collected = 0;
    }
}

/* Kernels within `span_s` from t lose the SMs that gradients and parameters on their way hold. The
 * span's own collectives may coincide with them: only what surely meets kernels counts. */
static double stretch(const Graph *g, const Stage *stage, double t, double span_s, double kernels_s)
{
    double held = rh_screen_held_frac(g->screen->c), exposed = span_s - kernels_s;
    double longest = kernels_s / (1 - held) + exposed;
    double reduce = stage->reduce_free_s - t, gather = stage->gather_free_s - t;
    return held *
           (fmax(0, fmin(reduce, longest) - exposed) + fmax(0, fmin(gather, longest) - exposed));
}

/* ZeRO-3: sends for the parameters of the item at `position` of the stage's order, once the item
 * two before is done. */
static void send_for(Stage *stage, int32_t position, double two_before_s)
{
    if (position >= stage->order_count)
        return;
    double took = stage->items[stage->order[position]].gather_s;
    stage->gather_free_s = fmax(stage->gather_free_s, two_before_s) + took;
}

/* ZeRO-3: when the next item's parameters are there; those of the one after are sent for. */
static double gathered(Stage *stage)
{
    if (stage->position == 0)
        send_for(stage, 0, 0);
    double arrival = stage->gather_free_s;
    send_for(stage, ++stage->position, stage->behind_s);
    return arrival;
}

/* Runs a chunk forward from `t`; returns when its output may leave. */
static double run_forward(const Graph *g, Stage *stage, int32_t chunk, int32_t at, double t)
{
    bool first = stage->left[chunk] == g->m && g->l->dp > 1;
    if (g->l->dp == 1 || (g->l->zero < 3 && (!first || g->l->zero == 0))) {
        stage->free_s = t + g->spans->chunk[at].forward_busy_s;
        return t + g->spans->chunk[at].forward_s;
    }
    for (int32_t i = stage->chunk_at[chunk]; i < stage->chunk_at[chunk + 1]; i++) {
        Item *item = &stage->items[i];
        t = fmax(t, g->l->zero == 3 ? gathered(stage) : item->arrival_s);
        t += stretch(g, stage, t, item->cost.forward_busy_s, item->cost.forward_kernels_s);
        stage->free_s = t + item->cost.forward_busy_s;
        stage->behind_s = stage->free_s;
        t += item->cost.forward_s;
    }
    return t;
}

static void reduced(Stage *stage, double ready, double seconds)
{
    stage->reduce_free_s = fmax(stage->reduce_free_s, ready) + seconds;
}

static void reduce_bucket(const Graph *g, int32_t s, Stage *stage, double ready)
{
    RhOp op = g->l->zero == 0 ? RH_OP_ALL_REDUCE : RH_OP_REDUCE_SCATTER;
    double bytes = g->screen->c->stack->gradient_bytes * stage->bucket_params;
    reduced(stage, ready, rh_screen_collective_s(g->screen, g->net, s, op, bytes));
    stage->bucket_params = 0;
}

static double run_backward(const Graph *g, int32_t s, Stage *stage, int32_t chunk, int32_t at,
                           double t)
{
    bool last = --stage->left[chunk] == 0;
    if (g->l->dp == 1 || (g->l->zero <= 1 && !last))
        return stage->free_s = t + g->spans->chunk[at].backward_s;
    double bucket = rh_bucket_params(g->screen->c, g->l);
    for (int32_t i = stage->chunk_at[chunk + 1] - 1; i >= stage->chunk_at[chunk]; i--) {
        Item *item = &stage->items[i];
        if (g->l->zero == 3)
            t = fmax(t, gathered(stage));
        t += stretch(g, stage, t, item->cost.backward_s, item->cost.backward_kernels_s);
        t += item->cost.backward_s;
        stage->behind_s = t;
        if (g->l->zero >= 2) {
            reduced(stage, t, item->reduce_s);
            continue;
        }
        stage->bucket_params += item->params;
        if (stage->bucket_params >= bucket)
            reduce_bucket(g, s, stage, t);
    }
    if (g->l->zero <= 1 && stage->bucket_params > 0)
        reduce_bucket(g, s, stage, t);
    return stage->free_s = t;
}

static void send(Graph *g, int32_t s, bool backward, int32_t at, int32_t microbatch, double ready)
{
    int32_t to = backward ? at - 1 : at + 1;
    if (to < 0 || to >= g->split->chunks)
        return;
    double latency = backward ? g->net->back_latency_s[s] : g->net->hop_latency_s[s];
    double per_byte = backward ? g->net->back_s_per_byte[s] : g->net->hop_s_per_byte[s];
    double *lane = &g->stages[s].send_free_s[backward];
    *lane = fmax(*lane, ready) + latency + per_byte * g->shard->pieces->message_bytes;
    g->arrival[backward][(int64_t)to * g->m + microbatch] = *lane;
}

/* Runs the next slot of stage s if its input is there. */
static bool advance(Graph *g, int32_t s)
{
    Stage *stage = &g->stages[s];
    if (stage->next == g->total)
        return false;
    RhSlot slot = stage->slots[stage->next];
    int32_t at = slot.chunk * g->l->pp + s;
    double input = g->arrival[slot.backward][(int64_t)at * g->m + slot.microbatch];
    if (isnan(input))
        return false;
    double t = fmax(stage->free_s, input), out;
    if (slot.backward) {
        out = run_backward(g, s, stage, slot.chunk, at, t);
    } else {
        out = run_forward(g, stage, slot.chunk, at, t);
        if (at == g->split->chunks - 1)
            g->arrival[1][(int64_t)at * g->m + slot.microbatch] = out;
    }
    send(g, s, slot.backward, at, slot.microbatch, out);
    stage->next++;
    return true;
}

/* Every execution of every item, as the slots run them. */
static void list_order(const Graph *g, Stage *stage)
{
    int32_t items = stage->chunk_at[g->l->vpp];
    stage->order = g_new(int32_t, 2 * (size_t)g->m * (size_t)items);
    for (int32_t i = 0; i < g->total; i++) {
        int32_t low = stage->chunk_at[stage->slots[i].chunk],
                high = stage->chunk_at[stage->slots[i].chunk + 1];
        for (int32_t k = 0; k < high - low; k++)
            stage->order[stage->order_count++] = stage->slots[i].backward ? high - 1 - k : low + k;
    }
}

static void stage_init(Graph *g, int32_t s)
{
    Stage *stage = &g->stages[s];
    int32_t items = 2;
    for (int32_t chunk = 0; chunk < g->l->vpp; chunk++)
        items += g->split->layers[chunk * g->l->pp + s];
    stage->items = g_new0(Item, items);
    stage->chunk_at = g_new0(int32_t, g->l->vpp + 1);
    stage->left = g_new0(int32_t, g->l->vpp);
    stage->slots = g_new(RhSlot, g->total);
    rh_pipeline_schedule(g->l->schedule)->order(g->l->pp, g->l->vpp, g->m, s, stage->slots);
    list_items(g, s, stage);
    if (g->l->dp > 1 && g->l->zero == 3)
        list_order(g, stage);
    if (g->l->dp > 1 && g->l->zero == 3) {
        stage->reduce_latency_s = rh_screen_latency_s(g->screen, g->net, s, RH_OP_REDUCE_SCATTER);
        stage->gather_latency_s = rh_screen_latency_s(g->screen, g->net, s, RH_OP_ALL_GATHER);
    }
    gather_at_start(g, s, stage);
}

/* ZeRO-3: two gathers and a reduction of every item cross the same links in every micro-batch, one
 * byte at a time. */
static double links_busy_s(const Graph *g, const Stage *stage)
{
    double busy = 0;
    for (int32_t i = 0; i < stage->chunk_at[g->l->vpp]; i++) {
        const Item *item = &stage->items[i];
        busy += 2 * fmax(0, item->gather_s - stage->gather_latency_s) +
                fmax(0, item->reduce_s - stage->reduce_latency_s);
    }
    return g->l->zero == 3 ? busy * g->m : 0;
}

static double stage_end(const Graph *g, int32_t s)
{
    const Stage *stage = &g->stages[s];
    return fmax(fmax(stage->free_s, stage->reduce_free_s), links_busy_s(g, stage)) +
           rh_screen_optimizer_s(g->screen->c, g->l, g->spans->params[s]);
}

static void graph_run(Graph *g)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t s = 0; s < g->l->pp; s++)
            while (advance(g, s))
                moved = true;
    }
}

static void graph_clear(Graph *g)
{
    for (int32_t s = 0; s < g->l->pp; s++) {
        g_free(g->stages[s].items);
        g_free(g->stages[s].chunk_at);
        g_free(g->stages[s].left);
        g_free(g->stages[s].slots);
        g_free(g->stages[s].order);
    }
    g_free(g->stages);
    g_free(g->arrival[0]);
}

double rh_screen_segment_s(RhScreen *screen, const RhLayout *l)
{
    Graph g = {.screen = screen, .l = l, .m = (int32_t)rh_train_microbatches(screen->c, l)};
    g.shard = rh_screen_shard(screen, l);
    g.split = rh_screen_split(screen, l);
    g.spans = rh_screen_spans(screen, g.shard, g.split, l);
    g.net = rh_screen_net(screen, l);
    g.total = 2 * g.m * l->vpp;
    size_t cells = (size_t)g.split->chunks * (size_t)g.m;
    g.arrival[0] = g_new(double, 2 * cells);
    g.arrival[1] = g.arrival[0] + cells;
    for (size_t i = 0; i < 2 * cells; i++)
        g.arrival[0][i] = i < (size_t)g.m ? 0 : (double)NAN;
    g.stages = g_new0(Stage, l->pp);
    for (int32_t s = 0; s < l->pp; s++)
        stage_init(&g, s);
    graph_run(&g);
    double end = 0;
    for (int32_t s = 0; s < l->pp; s++)
        end = fmax(end, stage_end(&g, s));
    graph_clear(&g);
    return end;
}
