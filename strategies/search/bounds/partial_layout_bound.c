/* The lower bound of every layout under a cut (space.h), whatever its chunks, shares and recomputation.
 *
 * Of what a stage runs, the seconds of layers add up (a busier stage only ends later), in each of its lanes, and all
 * stages together run every layer once for each micro-batch: so the mean stage is busy for a p-th of them, and some
 * stage for no less. Stage s begins behind the forwards of the chunks before it, of which s - 1 hold a layer or more;
 * where a schedule has replicas that come from both its ends, behind those before it on the shorter way. Where it
 * goes back through the stages that it came by, and leaves nothing for later, it ends before their backwards. What is
 * recomputed only adds.
 *
 * Stages hold whole layers: of n layers of w seconds or more, stage s has run k for all of m micro-batches no sooner
 * than k m w behind its beginning, and all n are run no sooner than the n-th of these times. So 61 layers of 16 stages
 * take as long as 64.
 *
 * Where each stage has one chunk besides, stage s takes at least w_0 + ... + w_(s-1) + m w_s, with w_i the seconds of
 * one micro-batch in stage i. Of all splits, the one with w_s = w_0 (1 - 1/m)^s makes all of these equal, and every
 * other split makes one of them larger. */
#include <math.h>
#include <stdlib.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/train/layout_representatives.h"

static void add_lanes(RhBoundCache *cache, const RhGroupNetwork *net, int32_t stage,
                      const RhLayerPass *pass, RhLayerWork *w)
{
    for (guint i = 0; pass->tasks && i < pass->tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(pass->tasks, RhLayerOp, i);
        int lane = (int)task->lane - RH_LANE_TP;
        if (lane >= 0 && lane < RH_LAYER_LANES)
            w->lane_s[lane] += rh_bound_block_s(cache, net, net->placement[stage], task);
    }
}

/* Computes the least time of each pass of a layer: that of its busiest lane, or of kernels alone
 * where pairs of slots may hide all communication. */
static void fill_passes(RhBoundCache *cache, RhShardCost *shard, const RhGroupNetwork *net,
                        int32_t stage, int kind, double *pass_s)
{
    const RhLayerOps *items = rh_bound_passes(shard);
    bool pairs = rh_pipeline_of(&shard->layout)->pairs;
    if (!pairs && !shard->spans)
        rh_shard_add_tables(shard);
    const RhLayerTimes *times = pairs ? NULL : rh_bound_layer_times(cache, shard, net, stage);
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
        pass_s[pass] =
            pairs ? rh_layer_kernels_s(&items->pass[kind][pass]) : times->of[kind][pass]->busy_s;
}

RhLayerWork rh_bound_layer_work(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net,
                                int32_t stage, int kind)
{
    RhShardCost *shard = rh_bound_shard(cache, l);
    double pass_s[RH_SLOT_PASSES];
    fill_passes(cache, shard, net, stage, kind, pass_s);
    RhLayerWork w = {.forward_s = pass_s[RH_SLOT_FORWARD],
                     .back_s = pass_s[RH_SLOT_BACKWARD] + pass_s[RH_SLOT_BACKWARD_DATA]};
    w.all_s = w.forward_s + w.back_s + pass_s[RH_SLOT_BACKWARD_WEIGHT];
    /* where places do not keep step, calls behind one another may take less than the sum */
    for (int pass = 0; rh_bound_places_keep_step(cache, net) && pass < RH_SLOT_PASSES; pass++)
        add_lanes(cache, net, stage, &rh_bound_passes(shard)->pass[kind][pass], &w);
    return w;
}

static double lanes_s(const RhLayerWork *w)
{
    double sum = 0;
    for (int lane = 0; lane < RH_LAYER_LANES; lane++)
        sum += w->lane_s[lane];
    return sum;
}

/* Adds what all passes of a layer take. */
static void add_item(RhLayerWork *sum, const RhLayerWork *item)
{
    sum->all_s += item->all_s;
    for (int lane = 0; lane < RH_LAYER_LANES; lane++)
        sum->lane_s[lane] += item->lane_s[lane];
}

/* Sets whole_s and whole_count from the seconds of each kind of layer. */
static void choose_whole(const RhModel *model, const double *of_kind_s, RhLayerWork *out)
{
    for (int kind = 0; kind < model->kinds_count; kind++) {
        int32_t count = 0;
        uint64_t kinds = 0;
        for (int32_t i = 0; i < model->layers_count; i++) {
            int of_layer = model->kind_of_layer[i];
            bool counts = of_kind_s[of_layer] >= of_kind_s[kind];
            count += counts;
            kinds |= counts ? UINT64_C(1) << of_layer : 0;
        }
        if (count * of_kind_s[kind] <= out->whole_count * out->whole_s)
            continue;
        out->whole_s = of_kind_s[kind];
        out->whole_count = count;
        out->whole_kinds = kinds;
    }
}

/* The work of all layers once, and of the layer that takes least either way. */
static RhLayerWork model_work(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net,
                              int32_t stage)
{
    const RhModel *model = cache->c->model;
    RhCachedWork *known = rh_bound_known_work(cache, l, net->placement[stage]->id);
    if (known->least.all_s > 0)
        return known->least;
    RhLayerWork sum = {.forward_s = (double)INFINITY, .back_s = (double)INFINITY};
    RhLayerWork of_item[RH_LAYER_OP_KINDS];
    for (int kind = 0; kind < model->kinds_count; kind++)
        of_item[kind] = rh_bound_layer_work(cache, l, net, stage, kind);
    for (int end = 0; end < 2; end++) {
        RhLayerWork w =
            rh_bound_layer_work(cache, l, net, stage, end ? RH_LAYER_HEAD : RH_LAYER_EMBEDDING);
        add_item(&sum, &w);
    }
    for (int32_t i = 0; i < model->layers_count; i++) {
        const RhLayerWork *layer = &of_item[model->kind_of_layer[i]];
        sum.forward_s = fmin(sum.forward_s, layer->forward_s);
        sum.back_s = fmin(sum.back_s, layer->back_s);
        sum.lanes_s += lanes_s(layer);
        sum.lanes_most_frac = fmax(sum.lanes_most_frac, lanes_s(layer) / layer->all_s);
        add_item(&sum, layer);
    }
    double of_kind_s[RH_LAYER_OP_KINDS];
    for (int kind = 0; kind < model->kinds_count; kind++)
        of_kind_s[kind] = of_item[kind].all_s;
    choose_whole(model, of_kind_s, &sum);
    return known->least = sum;
}

/* The least of any stage's: they may lie, or their devices be, otherwise. */
static RhLayerWork least_work(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    RhLayerWork least = model_work(cache, l, net, 0);
    for (int32_t s = 1; s < l->pp; s++) {
        if (net->placement[s] == net->placement[s - 1])
            continue;
        RhLayerWork w = model_work(cache, l, net, s);
        least.forward_s = fmin(least.forward_s, w.forward_s);
        least.back_s = fmin(least.back_s, w.back_s);
        least.all_s = fmin(least.all_s, w.all_s);
        least.lanes_s = fmin(least.lanes_s, w.lanes_s);
        least.lanes_most_frac = fmax(least.lanes_most_frac, w.lanes_most_frac);
        if (least.whole_kinds != w.whole_kinds)
            least.whole_count = 0;
        least.whole_s = fmin(least.whole_s, w.whole_s);
        for (int lane = 0; lane < RH_LAYER_LANES; lane++)
            least.lane_s[lane] = fmin(least.lane_s[lane], w.lane_s[lane]);
    }
    return least;
}

static double busiest_lane_s(const RhLayerWork *w)
{
    double busiest = w->all_s;
    for (int lane = 0; lane < RH_LAYER_LANES; lane++)
        busiest = fmax(busiest, w->lane_s[lane]);
    return busiest;
}

/* The layers that are run before what stage s runs first, or behind what it runs last. */
static int32_t layers_ahead_of(int32_t s, int32_t p, bool crosses)
{
    return MAX(0, (crosses ? MIN(s, p - 1 - s) : s) - 1);
}

/* The mean of them over stages. */
static double layers_ahead(int32_t p, bool crosses)
{
    double sum = 0;
    for (int32_t s = 0; s < p; s++)
        sum += layers_ahead_of(s, p, crosses);
    return sum / p;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least time in which the stages run all of the work's whole layers for all micro-batches, where each layer ahead
 * of a stage takes ahead_s: they could in the mean time if layers were divisible; then as many stages as lack a layer
 * end their next. Layers of each copy of the model are layers of their own. */
static double whole_layers_s(const RhBoundCache *cache, const RhLayerWork *w, const RhLayout *l,
                             double ahead_s)
{
    int32_t p = l->pp, lack = w->whole_count * rh_pipeline_kind_copies(l->schedule);
    bool crosses = rh_pipeline_of(l)->crosses;
    double each_s = (double)rh_train_microbatches(cache->c, l) * w->whole_s;
    double mean_s = lack * each_s / p + layers_ahead(p, crosses) * ahead_s;
    if (lack == 0 || each_s <= 0)
        return 0;
    g_autofree double *next_s = g_new(double, p);
    for (int32_t s = 0; s < p; s++) {
        double begins_s = layers_ahead_of(s, p, crosses) * ahead_s;
        double whole = fmax(0, floor((mean_s - begins_s) / each_s * (1 + 1e-12)));
        lack -= (int32_t)whole;
        next_s[s] = begins_s + (whole + 1) * each_s;
    }
    if (lack <= 0)
        return mean_s;
    qsort(next_s, (size_t)p, sizeof *next_s, ascending);
    return next_s[MIN(lack, p) - 1];
}

/* Does each stage have one chunk, and does the schedule go back through the stages that it came by? */
static bool is_there_and_back(const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    return l->vpp == 1 && !schedule->turns && !schedule->splits_backward && !schedule->crosses;
}

/* The latest stage's end where all layers take `all_s` for a micro-batch, each stage has one chunk, and of what a
 * stage takes the part `once_frac` is in the way of the stages behind it, or more. */
static double one_chunk_s(double all_s, double once_frac, double m, double p)
{
    return once_frac * all_s / -expm1(p * log1p(-once_frac / m));
}

/* The part of the SMs that each collective inside layers takes from kernels where pairs of slots hide it. All lanes
 * that may hold SMs at once, those of messages, parameters and gradients among them, take no more than there are, so a
 * second in which no kernel runs costs at least as much as it saves. */
static double held_frac(const RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    double lanes = RH_LAYER_LANES + (schedule->turns ? 10 : 6);
    if (!schedule->pairs || !net->uniform)
        return 0;
    return rh_min_d(cache->held_frac, (1 - 1.0 / cache->sms_least) / lanes);
}

/* How often a step runs each layer of the model in one pipeline. */
static double passes_of(const RhBoundCache *cache, const RhLayout *l)
{
    return (double)rh_train_microbatches(cache->c, l) * rh_pipeline_kind_copies(l->schedule);
}

/* Returns the bound of a cut for one order of ranks. The last micro-batch has no SMs taken from its kernels: a collective
 * may outlast its last kernel. */
static double cut_s(RhBoundCache *cache, const RhLayout *cut, RhOrder order)
{
    RhLayout l = rh_train_plain_cut(cut, order);
    const RhPipelineSchedule *schedule = rh_pipeline_of(&l);
    RhLayerWork w = least_work(cache, &l);
    double m = passes_of(cache, &l), p = l.pp;
    double held = held_frac(cache, &l, rh_bound_network(cache, &l));
    double all_s = w.all_s + held * w.lanes_s * (m - 1) / m;
    bool back = !schedule->turns && !schedule->splits_backward && !schedule->crosses;
    double ahead_s = w.forward_s + (back ? w.back_s : 0);
    double ahead = layers_ahead(l.pp, schedule->crosses) * ahead_s;
    double mean_s = fmax(m * fmax(all_s, busiest_lane_s(&w)) / p + ahead,
                         whole_layers_s(cache, &w, &l, ahead_s));
    if (!is_there_and_back(&l))
        return mean_s;
    double once_frac = 1 / (1 + held * w.lanes_most_frac);
    double one_s = fmax(one_chunk_s(w.all_s, 1, m, p), one_chunk_s(all_s, once_frac, m, p));
    return fmax(mean_s, one_s);
}

double rh_cut_bound_kernels_s(RhBoundCache *cache, const RhLayout *cut)
{
    RhLayout part = rh_part_layout(cache->c, cut, 0); /* no stage is quicker than a cut one ... */
    if (rh_stages_unequal(cut))
        part.halo = RH_HALO_STEP; /* ... that computes no place twice */
    RhLayout l = rh_train_plain_cut(&part, RH_ORDER_TP_DP_PP);
    const RhModel *model = cache->c->model;
    if (rh_platform_devices_count(cache->c->platform) > 1)
        return 0;
    const RhLayerOps *items = rh_bound_passes(rh_bound_shard(cache, &l));
    double of_item[RH_LAYER_OP_KINDS] = {0};
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            of_item[kind] += rh_layer_kernels_s(&items->pass[kind][pass]);
    double sum = of_item[RH_LAYER_EMBEDDING] + of_item[RH_LAYER_HEAD];
    for (int32_t i = 0; i < model->layers_count; i++)
        sum += of_item[model->kind_of_layer[i]];
    double m = passes_of(cache, &l);
    RhLayerWork whole = {0};
    choose_whole(model, of_item, &whole);
    double whole_s = whole_layers_s(cache, &whole, &l, 0);
    return fmax(whole_s, is_there_and_back(&l) ? one_chunk_s(sum, 1, m, l.pp) : m * sum / l.pp);
}

double rh_cut_bound_s(RhBoundCache *cache, const RhLayout *cut)
{
    double least = (double)INFINITY;
    if (rh_stages_unequal(cut))
        return rh_cut_bound_kernels_s(cache, cut);
    bool one = cut->pp == 1 || cut->dp == 1;
    for (int order = RH_ORDER_NONE + 1; order < RH_ORDER_LAST; order++)
        if (!one || order == RH_ORDER_TP_DP_PP)
            least = fmin(least, cut_s(cache, cut, (RhOrder)order));
    return least;
}
