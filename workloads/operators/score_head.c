/* The head of a reward model: one score of each token (a matrix of one column, as
 * AutoModelForSequenceClassification of transformers has it), of which that of the last token is
 * kept. Every tensor-parallel rank has it whole. */
#include "workloads/operators/operator.h"

static RhParams params(const RhOps *ops)
{
    return (RhParams){.replicated = (double)ops->model->hidden};
}

static RhFlops flops(const RhOps *ops)
{
    return (RhFlops){.weights = 2 * (double)ops->tokens * (double)ops->model->hidden};
}

static void kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden;
    if (rh_pass_is_forward(pass))
        rh_ops_gemm(ops, 1, ops->tokens, 1, h);
    else if (pass == RH_PASS_BACKWARD_DATA)
        rh_ops_gemm(ops, 1, ops->tokens, h, 1);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_weight_gradient(ops, 1, h);
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    double gathered = rh_ops_gathered_bytes(ops);
    return (RhOperatorBytes){.forward = gathered,
                             .backward =
                                 ops->element_bytes * rh_ops_hidden_elements(ops) + gathered};
}

const RhOperator rh_score_head = {
    .name = "score head", .params = params, .flops = flops, .kernels = kernels, .bytes = bytes};
