/* Data parallelism and ZeRO.
 *
 * ZeRO-0: gradients are all-reduced in buckets behind the last backward of each chunk. ZeRO-1:
 * reduce-scattered instead, and the updated parameters all-gathered at the start of the next step,
 * bucket by bucket ahead of the first forward. ZeRO-2: gradients are reduce-scattered layer by
 * layer in every micro-batch, since no rank keeps them whole. ZeRO-3 / FSDP: besides, every layer's
 * parameters are gathered before its forward and again before its backward, `prefetch_layers` ahead
 * (Rajbhandari et al. 2020, arXiv 1910.02054, section 7; Zhao et al. 2023, arXiv 2304.11277).
 * Gradients travel in the stack's main width for ZeRO-0/1, in the parameters' 2 bytes for ZeRO-2/3;
 * parameters in 2 bytes. */
#include <math.h>

#include "strategies/train/emit.h"

#define PARAM_BYTES 2.0

static bool replicated(const RhEmit *e)
{
    return e->layout->dp > 1;
}

double rh_bucket_params(const RhCase *c, const RhLayout *layout)
{
    return fmax(c->stack->bucket_params.value, c->stack->bucket_params_per_replica * layout->dp);
}

void rh_emit_step_begin(RhEmit *e)
{
    e->phase = RH_PHASE_PARAMETER;
    e->layer = e->microbatch = -1;
    if (!replicated(e) || (e->layout->zero != 1 && e->layout->zero != 2))
        return;
    double bucket = rh_bucket_params(e->c, e->layout), collected = 0;
    int32_t first = 0;
    for (int32_t i = 0; i < e->items_count; i++) {
        collected += e->items[i].params;
        if (collected < bucket && i + 1 < e->items_count)
            continue;
        int32_t task = rh_emit_collective(e, RH_LANE_GATHER, RH_OP_ALL_GATHER,
                                          PARAM_BYTES * collected, "all-gather parameters");
        for (; first <= i; first++)
            e->items[first].gather = task;
        collected = 0;
    }
}

/* ZeRO-3: the gather may start once the kernels before the layer `prefetch` back have ended: their
 * space is free. */
static void gather_now(RhEmit *e, double params)
{
    int32_t ahead = e->c->stack->prefetch_layers, now = e->last;
    int32_t held_count = e->pending_count, held[RH_PENDING_MAX];
    for (int32_t i = 0; i < held_count; i++)
        held[i] = e->pending[i];
    e->pending_count = 0;
    e->last =
        e->starts_count >= ahead ? e->starts[(e->starts_count - ahead) % RH_PREFETCH_MAX] : -1;
    RhPhase phase = e->phase;
    e->phase = RH_PHASE_PARAMETER;
    int32_t task = rh_emit_collective(e, RH_LANE_GATHER, RH_OP_ALL_GATHER, PARAM_BYTES * params,
                                      "all-gather parameters");
    e->phase = phase;
    e->last = now;
    e->starts[e->starts_count++ % RH_PREFETCH_MAX] = now;
    for (int32_t i = 0; i < held_count; i++)
        rh_emit_wait_for(e, held[i]);
    rh_emit_wait_for(e, task);
}

void rh_emit_params_needed(RhEmit *e, int32_t item)
{
    RhItem *it = &e->items[item];
    if (!replicated(e))
        return;
    if (e->layout->zero == 3)
        gather_now(e, it->params);
    rh_emit_wait_for(e, it->gather);
    it->gather = -1;
}

static void reduce(RhEmit *e, double params)
{
    bool whole = e->layout->zero <= 1;
    double width = whole ? e->c->stack->gradient_bytes : PARAM_BYTES;
    RhPhase phase = e->phase;
    e->phase = RH_PHASE_GRADIENT;
    int32_t task = rh_emit_collective(
        e, RH_LANE_DP, e->layout->zero == 0 ? RH_OP_ALL_REDUCE : RH_OP_REDUCE_SCATTER,
        width * params, "reduce gradients");
    e->phase = phase;
    if (task >= 0)
        e->last_dp = task;
}

void rh_emit_gradients_ready(RhEmit *e, int32_t item)
{
    if (!replicated(e))
        return;
    double params = e->items[item].params;
    if (e->layout->zero >= 2) {
        reduce(e, params);
        return;
    }
    if (!e->reduces)
        return;
    e->bucket_params += params;
    if (e->bucket_params >= rh_bucket_params(e->c, e->layout))
        rh_emit_gradients_flush(e);
}

void rh_emit_gradients_flush(RhEmit *e)
{
    if (e->bucket_params > 0)
        reduce(e, e->bucket_params);
    e->bucket_params = 0;
}

RhPiece *rh_optimizer_piece(const RhCase *c, const RhLayout *l, double params)
{
    double share = params / (l->zero >= 1 ? l->dp : 1);
    RhKernel kernel = {.cls = RH_KERNEL_OPTIMIZER,
                       .dtype = RH_DTYPE_FP32,
                       .bytes = c->stack->optimizer_bytes.value * share,
                       .flops = 12 * share};
    RhPiece *piece = g_new0(RhPiece, 1);
    piece->kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    g_array_append_val(piece->kernels, kernel);
    piece->seconds = rh_kernel_time_s(c->platform->device, &kernel) + c->stack->kernel_gap_s.value;
    return piece;
}

void rh_emit_step_end(RhEmit *e)
{
    e->phase = RH_PHASE_OPTIMIZER;
    e->layer = e->microbatch = -1;
    rh_emit_wait_for(e, e->last_dp);
    RhPiece *optimizer = rh_optimizer_piece(e->c, e->layout, e->memory.params);
    g_ptr_array_add(e->optimizers, optimizer);
    rh_emit_compute(e, "optimizer", RH_PARTS(optimizer));
}
