/* Bytes of one parameter in each of its forms. */
#include "strategies/train/block_cost.h"

const RhAdamMoments *rh_job_moments(const RhProblem *c)
{
    return c->job.moments ? c->job.moments : &rh_adam_moments_fp32;
}

double rh_gradient_bytes(const RhProblem *c)
{
    return c->job.gradient_bytes > 0 ? c->job.gradient_bytes : c->stack->gradient_bytes;
}

double rh_weight_bytes(const RhProblem *c)
{
    return rh_dtype_bytes(c->job.recipe->dtype);
}

/* Does backward make the second layout of frozen narrow weights? They are held in one layout, and
 * every backward makes the other: Transformer Engine's disable_parameter_transpose_cache beside
 * fp8_params, as NVIDIA trains adapters (mlcommons/training_results_v4.1 at b87b9e39,
 * NVIDIA/benchmarks/llama2_70b_lora, conf/megatron_gpt_peft_tuning_config.yaml). Layouts with
 * scales of their own are both held. */
bool rh_weight_is_laid_out_anew(const RhProblem *c)
{
    const RhRecipe *recipe = rh_recipe_on(c->job.recipe, c->platform->device);
    return c->job.narrow_weights && c->job.lora.rank > 0 && !recipe->layouts_apart &&
           !recipe->one_layout;
}

double rh_weight_copies_bytes(const RhProblem *c)
{
    if (c->job.frozen)
        return c->job.frozen->bytes;
    if (c->stack->casts_anew && !c->job.narrow_weights)
        return 0;
    const RhRecipe *recipe = rh_recipe_on(c->job.recipe, c->platform->device);
    bool one = c->stack->weights_in_one_layout || rh_weight_is_laid_out_anew(c);
    return recipe->weight_copy_bytes / (one && !recipe->one_layout ? 2 : 1);
}

double rh_gathered_weight_bytes(const RhProblem *c, bool linear)
{
    const RhRecipe *recipe = c->job.recipe;
    if (!c->job.narrow_weights || !linear)
        return rh_weight_bytes(c);
    return recipe->layouts_apart ? MIN(recipe->weight_copy_bytes, rh_weight_bytes(c))
                                 : recipe->operand_bytes;
}

bool rh_holds_narrow(const RhProblem *c)
{
    return c->job.narrow_weights || c->job.frozen;
}

double rh_layer_gather_bytes(const RhProblem *c, double trained, double weights, bool linear)
{
    if (!c->job.frozen || !linear)
        return rh_weight_bytes(c) * weights;
    return rh_weight_bytes(c) * trained + c->job.frozen->bytes * (weights - trained);
}

/* Bytes of a weight in 8 bits, with a scale of 4 bytes for each 8,000 (CUDAQuantizer of DeepSpeed,
 * deepspeed/runtime/zero/partition_parameters.py: target_group_size, symmetric). */
#define QUANTISED (1 + 4.0 / 8000)

double rh_gather_sent_frac(const RhProblem *c, const RhLayout *l)
{
    return l->qwz ? QUANTISED / rh_weight_bytes(c) : 1;
}

/* Weights of 4 bytes are their own masters. */
bool rh_has_masters(const RhProblem *c)
{
    return !c->job.no_masters && rh_weight_bytes(c) < RH_MASTER_BYTES;
}

double rh_optimizer_state_bytes(const RhProblem *c)
{
    return (rh_has_masters(c) ? RH_MASTER_BYTES : 0) + rh_job_moments(c)->bytes;
}
