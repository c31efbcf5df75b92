/* Bytes of parameters and their optimizer on a rank: by class, format and degree of ZeRO. */
#include "strategies/train/block_cost.h"

#include "strategies/train/codecs/codec.h"
#include "strategies/train/parallelism/parallelism.h"

/* Parameters of a class that belong to linear layers; all experts do. */
static double linear_of(const RhStates *states, RhParamsClass cls)
{
    double experts = rh_param_counts_sum(&states->frozen) > 0
                         ? states->frozen.of[RH_PARAMS_EXPERTS]
                         : states->params.of[RH_PARAMS_EXPERTS];
    return cls == RH_PARAMS_EXPERTS ? experts : states->linear - experts;
}

/* Bytes of copies that forward leaves for backward. ZeRO-3 shards them, too, whether weights are
 * held narrow (Megatron-FSDP, whose keep_fp8_transpose_cache is off, NVIDIA/Megatron-LM at
 * d98e8a64) or cast by each forward (NVIDIA/TransformerEngine at d0067d0d, pytorch/distributed.py:
 * _fsdp_scatter_tensors of weights that linear.py saves). */
double rh_states_copies(const RhProblem *c, const RhLayout *l, const RhStates *states)
{
    double sum = 0;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        sum += linear_of(states, (RhParamsClass)cls) /
               rh_parallelism_shares(c, l, (RhParamsClass)cls).weights;
    return rh_weight_copies_bytes(c) * sum;
}

double rh_states_wide(const RhProblem *c, const RhStates *states, RhParamsClass cls)
{
    double all = states->params.of[cls] + states->frozen.of[cls];
    return rh_holds_narrow(c) ? all - linear_of(states, cls) : all;
}

/* Weights that the rank holds, wherever that is. */
static double held_weights(const RhProblem *c, const RhLayout *l, const RhStates *states,
                           RhParamsClass cls)
{
    RhShares shares = rh_parallelism_shares(c, l, cls);
    bool cast = c->stack->casts_masters && !c->job.narrow_weights &&
                rh_params_degree(l, cls) >= 3 && shares.optimizer == shares.weights &&
                rh_has_masters(c);
    double held = rh_states_wide(c, states, cls) - (cast ? states->params.of[cls] : 0);
    if (rh_job_has_reference(&c->job) && c->job.lora.rank == 0)
        held += states->params.of[cls];
    return rh_weight_bytes(c) * held / shares.weights;
}

double rh_states_weights(const RhProblem *c, const RhLayout *l, const RhStates *states,
                         RhParamsClass cls)
{
    return l->weights == RH_PLACE_DEVICE ? held_weights(c, l, states, cls) : 0;
}

/* Adds what is off the device of a class's `share` of parameters, of which a layer has `most`. */
static void add_away(const RhProblem *c, const RhLayout *l, RhParamsClass cls, double share,
                     double most, RhTierBytes *sum)
{
    double *host = sum->of[RH_MEMORY_TIER_HOST], *drives = sum->of[RH_MEMORY_TIER_NVME];
    bool read = l->states == RH_PLACE_NVME;
    double *states = read ? drives : host, state = rh_optimizer_state_bytes(c);
    bool sums = rh_train_microbatches(c, l) > 1 && rh_gradients_leave(c, l, cls);
    states[RH_MEMORY_OPTIMIZER] += state * share;
    states[RH_MEMORY_GRADIENTS] += RH_MASTER_BYTES * share;
    host[RH_MEMORY_GRADIENTS] += sums ? rh_gradient_bytes(c) * share : 0;
    if (read) {
        host[RH_MEMORY_OPTIMIZER] += 2 * state * most;
        host[RH_MEMORY_GRADIENTS] += 2 * RH_MASTER_BYTES * most;
    }
    if (l->weights == RH_PLACE_DEVICE || l->weights == RH_PLACE_NVME)
        host[RH_MEMORY_WEIGHTS] += rh_weight_bytes(c) * (read ? 2 * most : share);
}

RhTierBytes rh_states_away(const RhProblem *c, const RhLayout *l, const RhStates *states,
                           const RhParamCounts *largest)
{
    RhTierBytes away = {0};
    double frac = rh_states_away_frac(l);
    for (int cls = 0; l->states != RH_PLACE_DEVICE && cls < RH_PARAMS_LAST; cls++) {
        double shards = rh_parallelism_shares(c, l, (RhParamsClass)cls).optimizer;
        add_away(c, l, (RhParamsClass)cls, frac * states->params.of[cls] / shards,
                 frac * largest->of[cls] / shards, &away);
        RhMemoryTier tier = l->weights == RH_PLACE_NVME ? RH_MEMORY_TIER_NVME : RH_MEMORY_TIER_HOST;
        if (l->weights != RH_PLACE_DEVICE)
            away.of[tier][RH_MEMORY_WEIGHTS] += held_weights(c, l, states, (RhParamsClass)cls);
    }
    return away;
}

double rh_away_buffer_bytes(const RhProblem *c, const RhLayout *l, const RhParamCounts *largest,
                            const double gather_bytes[RH_PARAMS_LAST])
{
    double sum = 0, back = rh_train_microbatches(c, l) > 1 ? rh_gradient_bytes(c) : 0;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        RhShares shares = rh_parallelism_shares(c, l, (RhParamsClass)cls);
        if (rh_gradients_leave(c, l, (RhParamsClass)cls))
            sum += (2 * RH_MASTER_BYTES + back) * rh_states_away_frac(l) * largest->of[cls] /
                   shares.optimizer;
        if (l->weights != RH_PLACE_DEVICE)
            sum += (c->stack->prefetch_layers + 1) * gather_bytes[cls] / shares.weights;
    }
    return sum;
}

double rh_states_gradients(const RhProblem *c, const RhLayout *l, const RhStates *states,
                           RhParamsClass cls)
{
    bool collects = c->stack->flat_gradients && rh_params_degree(l, cls) == 2 &&
                    rh_train_microbatches(c, l) > 1;
    double stay = rh_gradients_leave(c, l, cls) ? 1 - rh_states_away_frac(l) : 1;
    return c->stack->frees_gradients
               ? 0
               : (collects ? 2 : 1) * stay * rh_gradient_bytes(c) * states->params.of[cls] /
                     rh_parallelism_shares(c, l, cls).gradients;
}

/* Parameters that DeepSpeed's optimizer handles at a time (DeepSpeed v0.19.5, runtime/zero): step()
 * of stage_1_and_2.py flattens averaged_gradients and casts that, having freed those that other
 * ranks update; stage3.py does so for parameters of a sub-group at a time (config.py,
 * sub_group_size). */
#define SUB_GROUP 1e9

double rh_states_flattened(const RhProblem *c, const RhLayout *l, const RhStates *states)
{
    double gradient = rh_gradient_bytes(c), sum = 0;
    bool widened = gradient < RH_MASTER_BYTES && !c->job.no_masters;
    double flat = gradient + (widened ? RH_MASTER_BYTES : 0);
    for (int cls = 0; c->stack->flat_gradients && cls < RH_PARAMS_LAST; cls++) {
        double share = (1 - rh_states_away_frac(l)) * states->params.of[cls] /
                       rh_parallelism_shares(c, l, (RhParamsClass)cls).optimizer;
        bool grouped = rh_params_degree(l, (RhParamsClass)cls) >= 3;
        sum += gradient * share + flat * (grouped ? MIN(share, SUB_GROUP) : share) -
               rh_states_gradients(c, l, states, (RhParamsClass)cls);
    }
    return MAX(sum, rh_codec_working_bytes(c, l, states));
}

double rh_bucket_bytes(const RhProblem *c, const RhLayout *l)
{
    int32_t zero = rh_params_degree(l, RH_PARAMS_COMMON);
    double buckets = zero >= 3 ? MIN(c->stack->buckets.value, 1) : c->stack->buckets.value;
    return zero >= 1 ? buckets * c->stack->bucket_params.value * rh_weight_bytes(c) : 0;
}

void rh_states_add(RhStates *sum, const RhStates *more)
{
    rh_param_counts_add(&sum->params, &more->params);
    rh_param_counts_add(&sum->frozen, &more->frozen);
    sum->linear += more->linear;
    sum->kinds |= more->kinds;
}

RhKernel rh_optimizer_kernel(const RhProblem *c, const RhLayout *l, const RhStates *states)
{
    const RhParamCounts *params = &states->params;
    const RhRecipe *recipe = rh_recipe_on(c->job.recipe, c->platform->device);
    double share = 0, all = rh_param_counts_sum(params),
           cast = recipe->weight_cast_bytes * states->linear;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        share += params->of[cls] / rh_parallelism_shares(c, l, (RhParamsClass)cls).optimizer;
    double here = (1 - rh_states_away_frac(l)) * share; /* the host updates the others */
    if (c->job.narrow_weights &&
        c->job.lora.rank > 0) /* none is kept; the other layout is made in every backward */
        cast = rh_weight_is_laid_out_anew(c) ? recipe->weight_copy_bytes * states->linear *
                                                   (double)rh_train_microbatches(c, l)
                                             : 0;
    else if (c->job.narrow_weights &&
             all > 0) /* its share; the second layout of all, once gathered */
        cast =
            cast * share / all +
            (l->zero < 3 && !recipe->one_layout ? recipe->weight_copy_bytes * states->linear : 0);
    return (RhKernel){.cls = RH_KERNEL_OPTIMIZER,
                      .dtype = RH_DTYPE_FP32,
                      .bytes = rh_optimizer_bytes(c) * here + cast,
                      .flops = 12 * here};
}
