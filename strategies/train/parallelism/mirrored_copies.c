/* Two copies of the model in one pipeline (schedules/gems.c): stages s and p-1-s hold the same two
 * parts of it, each for another copy, and sum their gradients, with those of all replicas, once both
 * copies are through: an all-reduce for each part (github.com/OSU-Nowlab/MPI4DL 998d9ad,
 * src/torchgems/comm.py, create_allreduce_comm_master). The middle stage of
 * an odd number has both copies of its part, adds them up by itself, and sums with its replicas. */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

static double chunk_params(const RhStageProgram *s, int32_t chunk)
{
    double sum = 0;
    for (int32_t i = s->chunk_layers[chunk]; i < s->chunk_layers[chunk + 1]; i++)
        sum += rh_param_counts_sum(&rh_stage_program_layer(s, i)->params);
    return sum;
}

static void sum_part(RhStageProgramWriter *w, RhGroupKind group, int32_t chunk)
{
    const RhStageProgram *s = w->stage_program;
    double bytes = rh_gradient_bytes(s->model_cost->c) * chunk_params(s, chunk);
    rh_stage_program_communicate(w, (RhInstr){.lane = RH_LANE_DP,
                                              .group = (uint8_t)group,
                                              .op = RH_OP_ALL_REDUCE,
                                              .phase = RH_PHASE_GRADIENT,
                                              .bytes = bytes,
                                              .label = "sum gradients of both copies"});
}

/* Adds one copy's gradients to the other's: two are read and one is written. */
static void add_up(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    double params = chunk_params(s, 0);
    RhKernel sum = {.cls = RH_KERNEL_REDUCE,
                    .dtype = RH_DTYPE_FP32,
                    .bytes = 3 * rh_gradient_bytes(s->model_cost->c) * params,
                    .flops = params};
    rh_stage_program_run_kernel(w, &sum, "add up both copies' gradients");
}

static void end(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    const RhLayout *l = s->layout;
    int32_t mirror = l->pp - 1 - s->stage, first = s->stage > mirror;
    if (!rh_pipeline_of(l)->mirrors || s->model_cost->c->job.accumulates)
        return;
    if (mirror == s->stage)
        add_up(w);
    if (mirror == s->stage && rh_train_replicas(l) == 1)
        return;
    if (mirror == s->stage) {
        sum_part(w, RH_GROUP_DATA, 0);
    } else { /* both of a pair in the order of the model's parts */
        sum_part(w, RH_GROUP_MIRRORED, first);
        sum_part(w, RH_GROUP_MIRRORED, 1 - first);
    }
    rh_stage_program_wait(w, RH_LANE_DP);
}

static bool refuse(const RhLayout *l, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "schedule=%s sums gradients between two copies of the model, %s",
                   rh_pipeline_kind_name(l->schedule), what);
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (!rh_pipeline_of(l)->mirrors)
        return true;
    if (l->zero > 0 && rh_train_replicas(l) > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "zero=%d with schedule=%s: its two copies of the model sum whole gradients "
                       "over the %d ranks of dp x cp\nhelp: `zero=0`",
                       l->zero, rh_pipeline_kind_name(l->schedule), rh_train_replicas(l));
    if (l->codec != RH_CODEC_NONE)
        return refuse(l, "uncompressed\nnote: valid codec: none", error);
    if (c->model->tied_embeddings)
        return refuse(l, "and none between the ends of one, which tied embeddings need", error);
    if (rh_model_experts_kind(c->model))
        return refuse(l, "and knows no experts, whose replicas are others", error);
    return true;
}

const RhParallelism rh_parallelism_mirrored_copies = {
    .name = "mirrored", .legal = legal, .end = end};
