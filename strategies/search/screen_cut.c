/* The lower bound of every layout under a cut (space.h), whatever its chunks, shares and recomputation.
 *
 * Of what a stage runs, the seconds of items add up (a busier stage only ends later), and all stages together run every
 * layer once for each micro-batch: so the mean stage is busy for a p-th of them, and some stage for no less. Where a
 * schedule goes back through the stages that it came by, stage s begins behind the forwards of the chunks before it,
 * and ends before their backwards: at least s - 1 chunks hold a layer or more. What is recomputed only adds. */
#include <math.h>

#include "strategies/search/screen.h"
#include "strategies/train/open_knobs.h"

/* Where pairs of slots may hide all communication, kernels alone count. */
static double pass_s(const RhItemTimes *times, const RhItems *items, int kind, int pass, bool pairs)
{
    return pairs ? rh_item_kernels_s(&items->pass[kind][pass]) : times->of[kind][pass]->busy_s;
}

RhItemWork rh_screen_item_work(RhScreen *screen, const RhLayout *l, const RhNet *net, int32_t stage,
                               int kind)
{
    RhShardCost *shard = rh_screen_shard(screen, l);
    if (!shard->spans)
        rh_shard_add_tables(shard);
    const RhItems *items = rh_screen_items(shard);
    const RhItemTimes *times = rh_screen_item_times(screen, shard, net, stage);
    bool pairs = rh_pipeline_of(l)->pairs;
    RhItemWork w = {.forward_s = pass_s(times, items, kind, RH_SLOT_FORWARD, pairs),
                    .back_s = pass_s(times, items, kind, RH_SLOT_BACKWARD, pairs) +
                              pass_s(times, items, kind, RH_SLOT_BACKWARD_DATA, pairs)};
    w.all_s = w.forward_s + w.back_s + pass_s(times, items, kind, RH_SLOT_BACKWARD_WEIGHT, pairs);
    return w;
}

/* Of all items once, `all_s`, and of the layer that takes least either way. */
static RhItemWork model_work(RhScreen *screen, const RhLayout *l, const RhNet *net, int32_t stage)
{
    const RhModel *model = screen->c->model;
    RhKnownWork *known = rh_screen_known_work(screen, l, net->placement[stage]->id);
    if (known->least.all_s > 0)
        return known->least;
    RhItemWork sum = {(double)INFINITY, (double)INFINITY,
                      rh_screen_item_work(screen, l, net, stage, RH_ITEM_EMBEDDING).all_s +
                          rh_screen_item_work(screen, l, net, stage, RH_ITEM_HEAD).all_s};
    RhItemWork of_kind[RH_LAYER_KINDS_MAX];
    for (int kind = 0; kind < model->kinds_count; kind++)
        of_kind[kind] = rh_screen_item_work(screen, l, net, stage, kind);
    for (int32_t i = 0; i < model->layers_count; i++) {
        const RhItemWork *layer = &of_kind[model->kind_of_layer[i]];
        sum.forward_s = fmin(sum.forward_s, layer->forward_s);
        sum.back_s = fmin(sum.back_s, layer->back_s);
        sum.all_s += layer->all_s;
    }
    return known->least = sum;
}

/* The least of any stage's: they may lie, or their devices be, otherwise. */
static RhItemWork least_work(RhScreen *screen, const RhLayout *l)
{
    const RhNet *net = rh_screen_net(screen, l);
    RhItemWork least = model_work(screen, l, net, 0);
    for (int32_t s = 1; s < l->pp; s++) {
        if (net->placement[s] == net->placement[s - 1])
            continue;
        RhItemWork w = model_work(screen, l, net, s);
        least.forward_s = fmin(least.forward_s, w.forward_s);
        least.back_s = fmin(least.back_s, w.back_s);
        least.all_s = fmin(least.all_s, w.all_s);
    }
    return least;
}

static double cut_s(RhScreen *screen, const RhLayout *cut, RhOrder order)
{
    RhLayout l = rh_train_plain_cut(cut, order);
    const RhPipelineSchedule *schedule = rh_pipeline_of(&l);
    RhItemWork w = least_work(screen, &l);
    double m = (double)rh_train_microbatches(screen->c, &l), p = l.pp;
    bool back = l.pp > 1 && !schedule->turns && !schedule->splits_backward && !schedule->pairs;
    double fill = back ? (p - 1) * (p - 2) / (2 * p) * (w.forward_s + w.back_s) : 0;
    return m * w.all_s / p + fill;
}

double rh_screen_cut_s(RhScreen *screen, const RhLayout *cut)
{
    double least = (double)INFINITY;
    bool one = cut->pp == 1 || cut->dp == 1;
    for (int order = RH_ORDER_NONE + 1; order < RH_ORDER_LAST; order++)
        if (!one || order == RH_ORDER_TP_DP_PP)
            least = fmin(least, cut_s(screen, cut, (RhOrder)order));
    return least;
}
