/* Tokens from frames of a sound's spectrum that a file's reader made: a norm of so many columns, a matrix and a bias, and the
 * vector that hidden tokens have (wav2vec 2.0's, arXiv 2006.11477). Every tensor-parallel rank has it whole. */
#include "workloads/operators/operator.h"

static RhParams params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, columns = ops->model->frame_columns;
    return (RhParams){.replicated = 2 * columns + h * (columns + 2)};
}

static RhFlops flops(const RhOps *ops)
{
    return (RhFlops){.weights = 2 * rh_ops_hidden_elements(ops) * ops->model->frame_columns};
}

/* Frames have no gradient; their norm's scales have. */
static void kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, columns = ops->model->frame_columns;
    double elements = (double)ops->tokens * (double)columns;
    if (rh_pass_is_forward(pass)) {
        rh_ops_norm(ops, elements, false);
        rh_ops_gemm(ops, 1, ops->tokens, h, columns);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_gemm(ops, 1, ops->tokens, columns, h);
        rh_ops_norm(ops, elements, true);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, columns, h);
        rh_ops_bias_gradient(ops, h);
    }
}

/* Kept: frames, and these normed. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double e = ops->element_bytes, output = e * rh_ops_hidden_elements(ops);
    double elements = (double)ops->tokens * ops->model->frame_columns;
    return (RhOperatorBytes){.kept = (2 * e + rh_ops_norm_copies(ops)) * elements,
                             .forward = output,
                             .backward = output + e * elements};
}

const RhOperator rh_frames = {
    .name = "frames", .params = params, .flops = flops, .kernels = kernels, .bytes = bytes};
