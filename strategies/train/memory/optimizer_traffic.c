/* The optimizer's states: what its kernel moves, and which part of them is off the device. */
#include "strategies/train/block_cost.h"

double rh_states_away_frac(const RhLayout *l)
{
    return l->states == RH_PLACE_DEVICE ? 0 : l->states_percent / 100.0;
}

bool rh_gradients_leave(const RhProblem *c, const RhLayout *l, RhParamsClass cls)
{
    return l->states != RH_PLACE_DEVICE &&
           rh_stack_reduces_each(c->stack, rh_params_degree(l, cls), l->pp);
}

/* The stack counts fp32 moments and masters, read and written, its own gradients, read, and weights,
 * written; without masters these are read, too. */
double rh_optimizer_bytes(const RhProblem *c)
{
    double moments = rh_adam_moments_fp32.bytes - rh_job_moments(c)->bytes;
    bool alone = c->job.no_masters && rh_weight_bytes(c) < RH_MASTER_BYTES;
    double masters = alone ? 2 * RH_MASTER_BYTES - rh_weight_bytes(c) : 0;
    return c->stack->optimizer_bytes.value - 2 * moments - masters -
           (c->stack->gradient_bytes - rh_gradient_bytes(c));
}
