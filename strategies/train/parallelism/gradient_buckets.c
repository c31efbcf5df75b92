#include "strategies/train/parallelism/gradient_buckets.h"

#include <math.h>

#define LATE_BYTES 4.0 /* fp32, whatever format they are kept in */

double rh_bucket_params(const RhProblem *c, const RhLayout *layout, RhParamsClass cls)
{
    const RhStack *stack = c->stack;
    if (stack->bucket_bytes.value > 0)
        return stack->bucket_bytes.value / rh_gradient_bytes(c);
    return fmax(stack->bucket_params.value,
                stack->bucket_params_per_replica.value * rh_params_replicas(layout, cls));
}

static void send_bucket(RhStageProgramWriter *w, RhGroupKind group, RhOp op, double bytes,
                        int32_t buffers, const char *label)
{
    rh_stage_program_communicate(w, (RhInstr){.lane = RH_LANE_DP,
                                              .group = (uint8_t)group,
                                              .op = (uint8_t)op,
                                              .phase = RH_PHASE_GRADIENT,
                                              .bytes = bytes,
                                              .label = label,
                                              .buffers = (int16_t)buffers});
}

void rh_gradients_reduce(RhStageProgramWriter *w, RhParamsClass cls, RhOp op, double bytes,
                         int32_t buffers)
{
    bool scatter = op == RH_OP_REDUCE_SCATTER;
    RhGroupKind group =
        scatter ? rh_params_shard_group(w->stage_program->layout, cls) : rh_params_group(cls);
    send_bucket(w, group, op, bytes, buffers, "reduce gradients");
}

/* Sums the shares of gradients over the outer groups, after the reduce-scatter on the same lane. */
void rh_gradients_sum_shares(RhStageProgramWriter *w, RhParamsClass cls, double params)
{
    const RhLayout *l = w->stage_program->layout;
    if (rh_params_shard_group(l, cls) != rh_params_group(cls))
        send_bucket(w, rh_params_same_share_group(cls),
                    rh_params_outer(l, cls) ? RH_OP_REDUCE_SCATTER : RH_OP_ALL_REDUCE,
                    rh_gradient_bytes(w->stage_program->model_cost->c) * params /
                        rh_params_shards(l, cls),
                    0, "sum shares of gradients");
}

static bool is_late(const RhStageProgramWriter *w)
{
    return w->stage_program->model_cost->c->stack->late_exchange;
}

static void flush(RhStageProgramWriter *w, RhParamsClass cls, RhOp op, double params)
{
    double bytes = is_late(w) ? LATE_BYTES : rh_gradient_bytes(w->stage_program->model_cost->c);
    rh_gradients_reduce(w, cls, op, bytes * params, 0);
    if (op == RH_OP_REDUCE_SCATTER)
        rh_gradients_sum_shares(w, cls, params);
    w->bucket[cls].params -= params;
    w->bucket[cls].open_s = 0;
    w->bucket[cls].follows = true;
}

void rh_gradients_close(RhStageProgramWriter *w, RhParamsClass cls, RhOp op)
{
    if (!is_late(w))
        flush(w, cls, op, w->bucket[cls].params);
    w->bucket[cls].follows = false;
}

/* Has the bucket as many bytes, or been open as long, as the stack lets it? */
static bool is_full(const RhStageProgramWriter *w, RhParamsClass cls)
{
    const RhProblem *c = w->stage_program->model_cost->c;
    double first_bytes = w->bucket[cls].follows ? 0 : c->stack->first_bucket_bytes.value;
    double cycle_s = c->stack->bucket_cycle_s.value;
    double full = first_bytes > 0 ? first_bytes / rh_gradient_bytes(c)
                                  : rh_bucket_params(c, w->stage_program->layout, cls);
    return w->bucket[cls].params >= full || (cycle_s > 0 && w->bucket[cls].open_s >= cycle_s);
}

void rh_gradients_collect(RhStageProgramWriter *w, RhParamsClass cls, const RhStageLayer *layer,
                          RhOp op)
{
    w->bucket[cls].params += layer->params.of[cls];
    w->bucket[cls].open_s += rh_layer_backward_s(w->stage_program->model_cost, layer->kind);
    if (!is_late(w) && is_full(w, cls))
        flush(w, cls, op, w->bucket[cls].params);
}

bool rh_gradients_end(RhStageProgramWriter *w, RhParamsClass cls)
{
    double bucket =
        rh_bucket_params(w->stage_program->model_cost->c, w->stage_program->layout, cls);
    bool sends = is_late(w) && w->bucket[cls].params > 0;
    while (sends && w->bucket[cls].params > 0)
        flush(w, cls, RH_OP_ALL_REDUCE, fmin(bucket, w->bucket[cls].params));
    return sends;
}
