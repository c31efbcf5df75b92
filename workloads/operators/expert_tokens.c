#include "workloads/operators/expert_tokens.h"

#include <math.h>

int32_t rh_expert_tensor_of(const RhShard *shard)
{
    return MAX(shard->etp > 0 ? shard->etp : shard->tp, 1);
}

bool rh_experts_are_spread(const RhShard *shard)
{
    return shard->ep > 1 || rh_expert_tensor_of(shard) != MAX(shard->tp, 1);
}

bool rh_experts_share_inside(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    return ops->shard->shared_inside && !rh_experts_are_spread(ops->shard) && !kind->shared_gate &&
           kind->shared_width > 0 && kind->shared_width == kind->ffn_width;
}

/* Rows that a rank sends to each expert at least (deepspeed/moe/layer.py of deepspeedai/DeepSpeed v0.19.5:
 * min_capacity 4, capacity_factor and eval_capacity_factor 1). */
#define FILLED_LEAST 4

/* Fills up what is sent: all experts are busy, whoever is asked, and no rank has more than another. */
static RhRouted filled_up(RhRouted r, int64_t experts, int64_t ranks)
{
    int64_t rows = MAX((int64_t)ceil(r.from * r.routing.chosen / (double)experts), FILLED_LEAST);
    r.tokens = r.experts * rows * ranks;
    r.sent = r.come = (double)(experts * rows);
    r.busiest = 1;
    r.routing = (RhRouting){0};
    r.filled = true;
    return r;
}

RhRouted rh_routed_of(const RhOps *ops)
{
    int32_t ep = MAX(ops->shard->ep, 1), etp = rh_expert_tensor_of(ops->shard);
    int64_t f = (ops->kind->ffn_width + etp - 1) / etp;
    bool spread = rh_experts_are_spread(ops->shard), once = spread && ops->shard->sends_once;
    double from = spread ? ops->sequence_rows : (double)ops->tokens;
    double asked = from * ops->kind->experts_per_token;
    RhRouting routing = {ops->kind->experts,           ops->kind->experts_per_token,
                         ops->kind->n_group,           ops->kind->topk_group,
                         ops->shard->once_nvlink_frac, ops->shard->once_nic_frac};
    double busiest = spread ? rh_expert_load_busiest(ops->shard->load, ops->kind->experts, ep) : 1;
    int64_t tokens = (int64_t)ceil(asked * (spread ? etp : 1) * busiest);
    if (spread && ops->shard->by_chance) {
        /* an expectation, rounded; no less than what is certain */
        busiest *= rh_routing_busiest(&routing, ep, from * ep);
        tokens = MAX(tokens, llround(asked * etp * busiest));
    }
    double sent = once ? from * rh_routing_parts(&routing, ep) : asked;
    RhRouted routed = {.experts = ops->kind->experts / ep,
                       .tokens = tokens,
                       .from = from,
                       .sent = sent,
                       .come = (once ? sent * etp : sent) * busiest,
                       .busiest = busiest,
                       .spread = spread,
                       .once = once,
                       .routing = routing,
                       .in = ops->kind->moe_latent > 0 ? ops->kind->moe_latent : ops->model->hidden,
                       .up = (ops->kind->ffn_gated ? 2 : 1) * f,
                       .down = f};
    return spread && ops->shard->fills_experts && !once
               ? filled_up(routed, ops->kind->experts, (int64_t)ep * etp)
               : routed;
}

RhRouted rh_routed_with_shared(RhRouted r)
{
    r.shared = (int64_t)r.from;
    r.tokens += r.shared;
    r.sent += r.from;
    r.come += r.from;
    r.experts++;
    return r;
}

int64_t rh_routed_busy(const RhRouted *r)
{
    double tokens = (double)(r->tokens - r->shared),
           experts = (double)(r->experts - (r->shared > 0));
    if (r->routing.experts == 0) /* the load was said to be spread evenly */
        return MAX(MIN(r->experts, r->tokens), 1);
    double asked = MIN((double)r->routing.chosen / r->routing.experts, 1);
    double of_each = tokens / experts; /* T k/E */
    double busy = experts * (1 - pow(1 - asked, of_each / asked));
    return MAX(MIN((int64_t)round(busy), r->tokens - r->shared), 1) + (r->shared > 0);
}

int64_t rh_routed_rows(const RhRouted *r)
{
    int64_t busy = rh_routed_busy(r);
    return MAX((r->tokens + busy - 1) / busy, 1);
}
