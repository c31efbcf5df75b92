/* The SEQUENCE part of a block: the norm before it, and in a layer the residual add after it. Some
 * models have a second norm behind the block or beside the first (`extra_norms`), and some several
 * copies of the hidden state between blocks (hyper_connections.c). */
#include "workloads/operators/operator.h"

/* Traffic of the residual add: read x, read f(x), write the sum. */
#define SUM (2 * RH_READ + RH_WRITE)
static const RhStream RESIDUAL = {.fused_forward = SUM,
                                  .eager_forward = SUM,
                                  .eager_steps = 1,
                                  .fused_summed = SUM,
                                  .eager_summed = SUM};
/* Traffic of dropout, whose mask is written forward and read backward. Eager: bias and dropout
 * first, 4 + 5 forward; backward dropout alone, 5. */
#define DROPOUT (RH_READ + RH_WRITE + RH_MASK)
static const RhStream RESIDUAL_DROPOUT = {.fused_forward = SUM + RH_MASK,
                                          .fused_backward = RH_MASK,
                                          .eager_forward = SUM + RH_READ + RH_WRITE + DROPOUT,
                                          .eager_backward = DROPOUT,
                                          .eager_steps = 3,
                                          .fused_summed = SUM,
                                          .eager_summed = SUM};

static int32_t norms_of(const RhOps *ops)
{
    return 1 + (ops->kind != NULL ? ops->kind->extra_norms : 0);
}

static RhParams params(const RhOps *ops)
{
    bool borrows = ops->kind != NULL && ops->kind->borrows_block;
    return (RhParams){.replicated = (borrows ? 0 : norms_of(ops) * rh_ops_norm_params(ops)) +
                                    rh_hyper_params(ops)};
}

/* Kernels of the part. The norm's own gradient is part of its backward kernel. */
static void kernels(RhOps *ops, RhPass pass)
{
    bool in_layer = ops->kind != NULL, dropout = ops->model->hidden_dropout && rh_pass_trains(pass);
    bool forward = rh_pass_is_forward(pass) || (pass == RH_PASS_RECOMPUTE_FULL && in_layer);
    double elements = rh_ops_sequence_elements(ops);
    if (pass == RH_PASS_RECOMPUTE_SELECTIVE && in_layer && rh_ops_replays(ops, RH_RECOMPUTE_NORM))
        rh_ops_norm(ops, elements, false);
    if (!forward && pass != RH_PASS_BACKWARD_DATA)
        return;
    for (int32_t i = 0; i < norms_of(ops); i++)
        rh_ops_norm(ops, elements, !forward);
    rh_hyper_kernels(ops, !forward);
    if (in_layer)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, dropout ? &RESIDUAL_DROPOUT : &RESIDUAL, elements,
                           !forward);
}

/* Bytes kept: input and output of the norm, the second being the input of the block's first GEMM;
 * for a norm after the block its input, for one beside it its output; the mask of the dropout
 * before the add. Norm statistics (4 B a token) are left out. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double out = ops->kind != NULL ? rh_ops_kept_bytes(ops) : ops->element_bytes;
    double others = ops->model->norm == RH_NORM_NONE ? 0 : norms_of(ops);
    double copies = norms_of(ops) * rh_ops_norm_copies(ops);
    double mask = ops->kind != NULL && ops->model->hidden_dropout ? 1 : 0;
    bool dropped = ops->kind != NULL && others > 0 && rh_ops_replays(ops, RH_RECOMPUTE_NORM);
    return (RhOperatorBytes){
        .kept =
            rh_ops_sequence_elements(ops) * (out + others * ops->element_bytes + copies + mask) +
            rh_hyper_kept_bytes(ops),
        .dropped = dropped ? rh_ops_sequence_elements(ops) * (out + rh_ops_norm_copies(ops)) : 0};
}

const RhOperator rh_norm = {.name = "norm", .params = params, .kernels = kernels, .bytes = bytes};
