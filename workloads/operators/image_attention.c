/* Attention between the places of a picture: in windows, between all of them, or of them with another
 * sequence, as the tokens of a text. Queries, keys and values of the picture are made by steps before
 * it; those of another sequence here. */
#include "workloads/operators/image_layer_costs.h"

/* Places along a window's sides; a whole picture is one window. */
static void sides_of(const RhStepCost *at, int32_t sides[2])
{
    bool windows = at->step->kind == RH_STEP_OF_WINDOWS;
    sides[0] = windows ? at->step->window : at->out->size.height;
    sides[1] = windows ? at->step->window : at->out->size.width;
}

/* Context of attention: windows count as sequences of their places; the last ones are padded. */
static RhOps context_of(const RhOps *ops, const RhStepCost *at)
{
    int32_t sides[2];
    sides_of(at, sides);
    int64_t down = (at->out->size.height + sides[0] - 1) / sides[0],
            across = (at->out->size.width + sides[1] - 1) / sides[1];
    RhOps view = *ops;
    view.sequences = ops->tokens * down * across;
    view.queries = view.keys = (int64_t)sides[0] * sides[1];
    view.tokens = view.sequences * view.queries;
    if (at->step->kind == RH_STEP_OF_CROSS)
        view.keys = at->step->tokens;
    return view;
}

static RhCore core_of(const RhStepCost *at)
{
    int32_t d = at->out->size.channels / at->step->heads;
    return (RhCore){.heads = at->step->heads, .kv_heads = at->step->heads, .key = d, .value = d};
}

static double other_entries(const RhStepCost *at)
{
    return at->step->kind == RH_STEP_OF_CROSS ? 2.0 * at->step->width * at->out->size.channels : 0;
}

double rh_step_attention_entries(const RhStepCost *at)
{
    double side = 2.0 * at->step->window - 1;
    return at->step->kind == RH_STEP_OF_WINDOWS ? at->step->heads * side * side : other_entries(at);
}

double rh_step_attention_flops(const RhStepCost *at)
{
    return 2 * at->pictures * at->step->tokens * other_entries(at);
}

/* Pairs: every place with every other that it sees, once for scores and once for values. */
double rh_step_attention_pairs(const RhOps *ops, const RhStepCost *at)
{
    RhOps view = context_of(ops, at);
    return 4 * (double)view.tokens * (double)view.keys * at->out->size.channels;
}

double rh_step_attention_kept_bytes(const RhOps *ops, const RhStepCost *at)
{
    RhOps view = context_of(ops, at);
    RhCore core = core_of(at);
    double other = (double)ops->tokens * at->step->tokens * 2 * at->out->size.channels;
    return rh_core_kept_bytes(&view, &core) +
           (at->step->kind == RH_STEP_OF_CROSS ? ops->element_bytes * other : 0);
}

/* Kernels of the weights that make keys and values out of the other sequence, to which no gradient
 * goes back: what makes it is not trained. */
static void other_kernels(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    RhOps view = *ops;
    int64_t both = 2 * (int64_t)at->out->size.channels;
    view.tokens = ops->tokens * at->step->tokens;
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_weight_gradient(&view, at->step->width, both);
    else if (pass != RH_PASS_BACKWARD_DATA)
        rh_ops_gemm(&view, 1, view.tokens, both, at->step->width);
}

/* Places are copied into windows and back, and moved by half a window before and after where these are
 * shifted. Biases of scores by distance are assumed to be made in registers, as with ALiBi; their
 * gradient is left out. */
static void copies(RhOps *ops, const RhStepCost *at)
{
    for (int i = 0; at->step->kind == RH_STEP_OF_WINDOWS && i < (at->step->shifted ? 4 : 2); i++)
        rh_step_stream(ops, RH_KERNEL_ADD, RH_READ + RH_WRITE, rh_step_out_elements(at));
}

void rh_step_attention_kernels(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    RhOps view = context_of(ops, at);
    RhCore core = core_of(at);
    const RhCoreBlock square = {.queries = view.queries,
                                .keys = view.keys,
                                .rows = view.keys,
                                .pairs = (double)view.queries * (double)view.keys};
    if (at->step->kind == RH_STEP_OF_CROSS)
        other_kernels(ops, at, pass);
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        return;
    if (ops->shard->flash)
        rh_core_fused(&view, &core, pass, &square);
    else
        rh_core_kernels(&view, &core, pass);
    copies(ops, at);
}
