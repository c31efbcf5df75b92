#include "strategies/train/cuts/gradients.h"

#include <math.h>

double rh_bucket_params(const RhCase *c, const RhLayout *layout)
{
    return fmax(c->stack->bucket_params.value,
                c->stack->bucket_params_per_replica * rh_train_replicas(layout));
}

void rh_gradients_reduce(RhScriptWriter *w, RhOp op, double bytes, int32_t buffers)
{
    rh_script_communicate(w, (RhStep){.lane = RH_LANE_DP,
                                      .group = RH_GROUP_DATA,
                                      .op = (uint8_t)op,
                                      .phase = RH_PHASE_GRADIENT,
                                      .bytes = bytes,
                                      .label = "reduce gradients",
                                      .buffers = buffers});
}

void rh_gradients_flush(RhScriptWriter *w, RhOp op)
{
    rh_gradients_reduce(w, op, w->script->pieces->c->stack->gradient_bytes * w->collected, 0);
    w->collected = 0;
}

void rh_gradients_collect(RhScriptWriter *w, double params, RhOp op)
{
    w->collected += params;
    if (w->collected >= rh_bucket_params(w->script->pieces->c, w->script->layout))
        rh_gradients_flush(w, op);
}
