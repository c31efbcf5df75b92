/* The feed-forward block: one GEMM up (gate and up together), the activation, one GEMM down. */
#include "workloads/ops_private.h"

/* Per ffn element. SwiGLU reads gate and up and writes the product; backward reads these and the
 * product's gradient and writes two. Eager: SiLU, then the product. */
static const RhStream GATED = {6, 10, 10, 16, 2};
/* GELU (with bias): read and write; backward also reads the input. Eager: bias, then GELU. */
static const RhStream PLAIN = {4, 6, 8, 12, 2};

static void activation(RhOps *ops, bool backward)
{
    const RhStream *stream = ops->kind->ffn == RH_FFN_GATED ? &GATED : &PLAIN;
    double elements = (double)ops->tokens * (double)ops->widths.ffn;
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, stream, elements, backward);
}

void rh_ffn_kernels(RhOps *ops, RhPass pass)
{
    const RhWidths *w = &ops->widths;
    int64_t h = ops->model->hidden;
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
        rh_ops_gemm(ops, 1, ops->tokens, w->up, h);
        activation(ops, false);
        rh_ops_gemm(ops, 1, ops->tokens, h, w->ffn);
        break;
    case RH_PASS_BACKWARD_DATA:
        rh_ops_gemm(ops, 1, ops->tokens, w->ffn, h);
        activation(ops, true);
        rh_ops_gemm(ops, 1, ops->tokens, h, w->up);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        rh_ops_weight_gradient(ops, h, w->ffn);
        rh_ops_weight_gradient(ops, w->up, h);
        if (ops->kind->ffn_bias) {
            rh_ops_bias_gradient(ops, h);
            rh_ops_bias_gradient(ops, w->up);
        }
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}
