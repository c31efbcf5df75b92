/* The SEQUENCE part of a block: the norm before it, and in a layer the residual add after it. */
#include "workloads/operators/operator.h"

static const RhStream RESIDUAL = {6, 7.2, 6, 7.2, 1}; /* read x, read f(x), write the sum */
/* The mask is one byte, written forward and read backward; eager: bias, dropout, sum. */
static const RhStream RESIDUAL_DROPOUT = {7, 8.2, 15, 12.2, 3};

/* An eager RMSNorm keeps two fp32 copies of its input: the cast one and the normalised one. */
#define EAGER_NORM_BYTES 8.0

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
    bool eager = ops->model->norm == RH_NORM_RMS && !ops->shard->fused_norms;
    double tensors = ops->model->norm == RH_NORM_NONE ? 1 : 2;
    double mask = ops->kind != NULL && ops->model->hidden_dropout ? 1 : 0;
    return (RhOperatorBytes){
        .kept = rh_ops_sequence_elements(ops) *
                (tensors * ops->element_bytes + (eager ? EAGER_NORM_BYTES : 0) + mask)};
}

const RhOperator rh_norm = {.name = "norm", .params = params, .kernels = kernels, .bytes = bytes};
