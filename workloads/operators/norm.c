/* The SEQUENCE part of a block: the norm before it, and in a layer the residual add after it. */
#include "workloads/operators/operator.h"

/* Read x, read f(x), write the sum. */
#define SUM (2 * RH_READ + RH_WRITE)
static const RhStream RESIDUAL = {SUM, RH_BACKWARD_EXCESS *SUM, SUM, RH_BACKWARD_EXCESS *SUM, 1};
/* A mask is written forward and read backward. Eager: bias and dropout first, 4 + 5 forward; backward
 * dropout alone, 5. */
#define DROPOUT (RH_READ + RH_WRITE + RH_MASK)
static const RhStream RESIDUAL_DROPOUT = {SUM + RH_MASK, RH_BACKWARD_EXCESS *SUM + RH_MASK,
                                          SUM + RH_READ + RH_WRITE + DROPOUT,
                                          RH_BACKWARD_EXCESS *SUM + DROPOUT, 3};

static RhParams params(const RhOps *ops)
{
    return (RhParams){.replicated = rh_ops_norm_params(ops)};
}

/* The norm's own gradient is part of its backward kernel. */
static void kernels(RhOps *ops, RhPass pass)
{
    bool in_layer = ops->kind != NULL, dropout = ops->model->hidden_dropout && rh_pass_trains(pass);
    bool forward = rh_pass_is_forward(pass) || (pass == RH_PASS_RECOMPUTE_FULL && in_layer);
    double elements = rh_ops_sequence_elements(ops);
    if (!forward && pass != RH_PASS_BACKWARD_DATA)
        return;
    rh_ops_norm(ops, elements, !forward);
    if (in_layer)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, dropout ? &RESIDUAL_DROPOUT : &RESIDUAL, elements,
                           !forward);
}

/* Input and output of the norm, the second being the input of the block's first GEMM; the mask of
 * the dropout before the add. Norm statistics (4 B a token) are left out. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double tensors = ops->model->norm == RH_NORM_NONE ? 1 : 2;
    double mask = ops->kind != NULL && ops->model->hidden_dropout ? 1 : 0;
    return (RhOperatorBytes){.kept =
                                 rh_ops_sequence_elements(ops) *
                                 (tensors * ops->element_bytes + rh_ops_norm_copies(ops) + mask)};
}

const RhOperator rh_norm = {.name = "norm", .params = params, .kernels = kernels, .bytes = bytes};
