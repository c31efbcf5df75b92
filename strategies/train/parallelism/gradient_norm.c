/* The norm of all gradients, by which they are clipped: after all sums of gradients every rank adds
 * up the squares of those whose optimizer it has, one number is all-reduced, and the optimizer
 * waits for it (Megatron-LM's clip_grads.py: over the ranks of a replica of the model, or, where
 * replicas share out the optimizer, over all). So it is a barrier: no optimizer starts before the
 * last gradients of the job have arrived. Gradients are not read again to be scaled, as norms below
 * the limit leave them unchanged. */
#include "strategies/train/parallelism/parallelism.h"

#define NORM_BYTES 4.0 /* fp32 */

static RhKernel squares(const RhStageProgram *s)
{
    double share = 0; /* fraction of the gradients on this rank */
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        share += s->states.params.of[cls] / s->shares[cls].optimizer;
    return (RhKernel){.cls = RH_KERNEL_REDUCE,
                      .dtype = RH_DTYPE_FP32,
                      .bytes = rh_gradient_bytes(s->model_cost->c) * share,
                      .flops = 2 * share};
}

static void sum_norm(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    const RhLayout *l = s->layout;
    RhGrid grid = rh_grid(l);
    RhGroupKind group = rh_norm_group(l);
    if (!s->model_cost->c->stack->gradient_norm)
        return;
    RhKernel kernel = squares(s);
    rh_stage_program_run_kernel(w, &kernel, "square gradients");
    if (rh_grid_group_size(&grid, group) * l->pp == 1)
        return;
    rh_stage_program_communicate(w, (RhInstr){.lane = RH_LANE_NORM,
                                              .group = (uint8_t)group,
                                              .op = RH_OP_ALL_REDUCE,
                                              .phase = RH_PHASE_GRADIENT,
                                              .bytes = NORM_BYTES,
                                              .label = "sum the gradients' norm"});
    rh_stage_program_wait(w, RH_LANE_NORM);
}

const RhParallelism rh_parallelism_gradient_norm = {.name = "norm", .end = sum_norm};
