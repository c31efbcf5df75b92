#include "strategies/train/cuts/gradients.h"

#include <math.h>

double rh_bucket_params(const RhCase *c, const RhLayout *layout, RhParamsClass cls)
{
    return fmax(c->stack->bucket_params.value,
                c->stack->bucket_params_per_replica * rh_params_replicas(layout, cls));
}

void rh_gradients_reduce(RhScriptWriter *w, RhParamsClass cls, RhOp op, double bytes,
                         int32_t buffers)
{
    rh_script_communicate(w, (RhStep){.lane = RH_LANE_DP,
                                      .group = (uint8_t)rh_params_group(cls),
                                      .op = (uint8_t)op,
                                      .phase = RH_PHASE_GRADIENT,
                                      .bytes = bytes,
                                      .label = "reduce gradients",
                                      .buffers = (int16_t)buffers});
}

void rh_gradients_flush(RhScriptWriter *w, RhParamsClass cls, RhOp op)
{
    rh_gradients_reduce(w, cls, op,
                        w->script->pieces->c->stack->gradient_bytes * w->collected.of[cls], 0);
    w->collected.of[cls] = 0;
}

void rh_gradients_collect(RhScriptWriter *w, RhParamsClass cls, double params, RhOp op)
{
    w->collected.of[cls] += params;
    if (w->collected.of[cls] >= rh_bucket_params(w->script->pieces->c, w->script->layout, cls))
        rh_gradients_flush(w, cls, op);
}
