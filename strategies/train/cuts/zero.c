/* ZeRO: replicas share out optimizer states (1), gradients (2), parameters (3).
 *
 * ZeRO-1: gradients are reduce-scattered instead of all-reduced, and the updated parameters
 * all-gathered at the start of the next step, bucket by bucket ahead of the first forward. ZeRO-2:
 * gradients are reduce-scattered layer by layer in every micro-batch, since no rank keeps them
 * whole. ZeRO-3 / FSDP: besides, every layer's parameters are gathered before its forward and again
 * before its backward, `prefetch_layers` ahead (Rajbhandari et al. 2020, arXiv 1910.02054, section
 * 7; Zhao et al. 2023, arXiv 2304.11277). Gradients travel in the stack's main width for ZeRO-1, in
 * the parameters' 2 bytes for ZeRO-2/3; parameters in 2 bytes. */
#include "strategies/train/cuts/cut.h"
#include "strategies/train/cuts/gradients.h"

static int32_t stage_of_sharding(const RhScriptWriter *w)
{
    return rh_train_replicas(w->script->layout) > 1 ? w->script->layout->zero : 0;
}

static void gather(RhScriptWriter *w, double params, int32_t ahead, int32_t buffers)
{
    rh_script_communicate(w, (RhStep){.lane = RH_LANE_GATHER,
                                      .group = RH_GROUP_DATA,
                                      .op = RH_OP_ALL_GATHER,
                                      .phase = RH_PHASE_PARAMETER,
                                      .bytes = RH_WEIGHT_BYTES * params,
                                      .label = "all-gather parameters",
                                      .ahead = (int16_t)ahead,
                                      .buffers = (int16_t)buffers});
}

static void share(const RhLayout *l, RhShares *shares)
{
    int32_t replicas = rh_train_replicas(l);
    shares->optimizer *= l->zero >= 1 ? replicas : 1;
    shares->gradients *= l->zero >= 2 ? replicas : 1;
    shares->weights *= l->zero >= 3 ? replicas : 1;
}

static void begin(RhScriptWriter *w)
{
    const RhScript *s = w->script;
    int32_t zero = stage_of_sharding(w), sent = 0;
    if (zero != 1 && zero != 2)
        return;
    double bucket = rh_bucket_params(s->pieces->c, s->layout), collected = 0;
    for (guint i = 0, first = 0; i < s->items->len; i++) {
        collected += rh_script_item(s, (int32_t)i)->params;
        if (collected < bucket && i + 1 < s->items->len)
            continue;
        for (; first <= i; first++)
            w->begin_of_item[first] = collected > 0 ? sent : -1;
        sent += collected > 0;
        gather(w, collected, 0, 0);
        collected = 0;
    }
}

/* Gradients of weights alone need no parameters. */
static void before_item(RhScriptWriter *w, const RhSlotKind *slot, int32_t item)
{
    int32_t zero = stage_of_sharding(w);
    double params = rh_script_item(w->script, item)->params;
    if (zero == 3 && slot->pass != RH_SLOT_BACKWARD_WEIGHT && params > 0) {
        int32_t ahead = w->script->pieces->c->stack->prefetch_layers;
        gather(w, params, ahead, ahead + 1);
        rh_script_wait(w, RH_LANE_GATHER);
    } else if (zero > 0 && slot->pass == RH_SLOT_FORWARD && slot->first &&
               w->begin_of_item[item] >= 0) {
        rh_script_wait_begin(w, w->begin_of_item[item]);
    }
}

static void after_item(RhScriptWriter *w, const RhSlotKind *slot, int32_t item)
{
    int32_t zero = stage_of_sharding(w);
    double params = rh_script_item(w->script, item)->params;
    if (zero >= 2 && rh_slot_ends(slot->pass))
        rh_gradients_reduce(w, RH_OP_REDUCE_SCATTER, RH_WEIGHT_BYTES * params, 1);
    else if (zero == 1 && slot->last && rh_slot_ends(slot->pass))
        rh_gradients_collect(w, params, RH_OP_REDUCE_SCATTER);
}

static void close(RhScriptWriter *w, const RhSlotKind *slot)
{
    if (stage_of_sharding(w) == 1 && slot->last && rh_slot_ends(slot->pass))
        rh_gradients_flush(w, RH_OP_REDUCE_SCATTER);
}

const RhCut rh_cut_zero = {.name = "zero",
                           .share = share,
                           .begin = begin,
                           .before_item = before_item,
                           .after_item = after_item,
                           .close = close};
