/* Tied embeddings on a pipeline: the first stage looks tokens up in the matrix by which the last
 * one scores them, and each holds it, with its gradients and its optimizer's state. Once a step
 * both add up its gradients, after the replicas' sums and before the optimizer (Megatron-LM's
 * finalize_model_grads): an all-reduce over the two of all gradients of the matrix that a rank
 * holds, in the width in which it holds them. Replicas that only share out the optimizer hold them
 * whole, unless the stack frees all but a share. */
#include "strategies/train/parallelism/parallelism.h"

static void sum_tied_gradients(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    const RhLayout *l = s->layout;
    bool holds_it =
        rh_tied_params(s->model_cost, l) > 0 && (s->stage == 0 || s->stage == l->pp - 1);
    if (!holds_it)
        return;
    RhShares shares = s->shares[RH_PARAMS_COMMON];
    double params = rh_tied_params(s->model_cost, l) / shares.reduced;
    rh_stage_program_communicate(w, (RhInstr){.lane = RH_LANE_TIED,
                                              .group = RH_GROUP_TIED,
                                              .op = RH_OP_ALL_REDUCE,
                                              .phase = RH_PHASE_GRADIENT,
                                              .bytes = rh_gradient_bytes(s->model_cost->c) * params,
                                              .label = "sum tied embeddings' gradients"});
    rh_stage_program_wait(w, RH_LANE_TIED);
}

const RhParallelism rh_parallelism_tied_embeddings = {.name = "tied", .end = sum_tied_gradients};
