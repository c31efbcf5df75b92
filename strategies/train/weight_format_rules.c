/* Formats of weights that go together in a job. */
#include "base/error.h"
#include "strategies/train/block_cost.h"

/* Is the format of frozen weights legal? Products read them in 16 bits. */
static bool frozen_job_legal(const RhProblem *c, GError **error)
{
    const RhRecipe *recipe = c->job.recipe;
    if (!c->job.frozen)
        return true;
    if (c->job.lora.rank == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "lora.base=%s without adapters: weights of so few bits are frozen, and "
                       "nothing is trained\nhelp: `lora.rank=16`",
                       c->job.frozen->name);
    if (recipe->linear != recipe->dtype || rh_dtype_bytes(recipe->dtype) > 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       "lora.base=%s with %s: frozen weights of few bits are multiplied in 16\n"
                       "help: bf16 or fp16",
                       c->job.frozen->name, recipe->name);
    return true;
}

/* Are narrow weights, and a narrow core of attention, legal? Linear layers must be narrow. */
static bool narrow_job_legal(const RhProblem *c, GError **error)
{
    if (c->job.narrow_attention &&
        (c->job.recipe->weight_copy_bytes <= 0 || !c->stack->flash_attention))
        return rh_fail(error, RH_ERROR_USAGE,
                       "attention=fp8 with %s and the stack %s: it goes with narrow linear layers "
                       "and one kernel for attention's core\n"
                       "help: a recipe of narrow linear layers, such as fp8",
                       c->job.recipe->name, c->stack->name);
    if (!c->job.narrow_weights)
        return true;
    if (c->job.recipe->weight_copy_bytes <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "weights=narrow with %s, whose linear layers are not narrow\n"
                       "help: a recipe of narrow linear layers, such as fp8",
                       c->job.recipe->name);
    return true;
}

bool rh_train_formats_legal(const RhProblem *c, GError **error)
{
    return narrow_job_legal(c, error) && frozen_job_legal(c, error);
}

bool rh_train_reference_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    return l->weights == RH_PLACE_DEVICE || !rh_job_has_reference(&c->job) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "preference=dpo with weights off the device: how the reference's are brought in "
                   "is not modelled\n"
                   "help: weights=device, or preference=reference-free");
}
