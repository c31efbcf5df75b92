/* The convolution of a Conformer (Gulati et al. 2020, arXiv 2005.08100, section 2.2): one matrix in, for values and their gates;
 * a gated linear unit; a depthwise convolution of a few taps around each token, a norm, SiLU; one matrix out. Tensor ranks cut
 * columns; the norm over all of them is counted as each rank's own. Formulas: docs/theory/workload.md. */
#include "workloads/operators/scan.h"

/* Values times the sigmoid of their gates: read both, write one; backward read three, write two. Eager: the sigmoid beside. */
static const RhStream GLU = {2 * RH_READ + RH_WRITE,
                             3 * RH_READ + 2 * RH_WRITE,
                             3 * RH_READ + 2 * RH_WRITE,
                             5 * RH_READ + 3 * RH_WRITE,
                             2,
                             0,
                             0};

static int64_t columns_of(const RhOps *ops)
{
    return (int64_t)rh_ops_cut(ops, ops->kind->heads) * ops->kind->head_size;
}

/* Heads part the columns over tensor ranks; they do nothing else. `scan_bias` is of its matrices and taps; whether those that make
 * tokens have one is another matter. */
static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->heads;
    kind->head_size = (int32_t)(c->hidden / MAX(c->heads, 1));
    kind->conv_size = (int32_t)c->conv_size;
    kind->conv_bias = c->scan_bias != 0;
    kind->window_tokens = (int32_t)c->conv_size;
}

/* Matrices and taps; scales and shifts of the norm. */
static RhParams params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, w = (double)columns_of(ops);
    double biases = ops->kind->conv_bias ? 1 : 0;
    return (RhParams){.sharded =
                          3 * h * w + rh_scan_convolution_params(ops, w) + (2 + 2 * biases) * w,
                      .replicated = biases * h};
}

static RhFlops flops(const RhOps *ops)
{
    double w = (double)columns_of(ops);
    return (RhFlops){.weights = 6 * (double)ops->tokens * (double)ops->model->hidden * w +
                                rh_scan_convolution_flops(ops, w)};
}

static double elements_of(const RhOps *ops, int64_t columns)
{
    return (double)ops->tokens * (double)columns;
}

static void forward(RhOps *ops, int64_t w)
{
    rh_ops_linear(ops, ops->tokens, 2 * w, ops->model->hidden);
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GLU, elements_of(ops, w), false);
    rh_scan_convolve(ops, (double)w, false);
    rh_ops_norm(ops, elements_of(ops, w), false);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w);
}

static void backward(RhOps *ops, int64_t w)
{
    rh_ops_linear(ops, ops->tokens, w, ops->model->hidden);
    rh_ops_norm(ops, elements_of(ops, w), true);
    rh_scan_convolve(ops, (double)w, true);
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GLU, elements_of(ops, w), true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, 2 * w);
}

static void weight_gradients(RhOps *ops, int64_t w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w);
    rh_scan_taps_gradient(ops, (double)w);
    rh_ops_linear_gradient(ops, 2 * w, ops->model->hidden);
    if (!ops->kind->conv_bias)
        return;
    rh_ops_bias_gradient(ops, ops->model->hidden);
    rh_ops_bias_gradient(ops, 2 * w);
}

static void kernels(RhOps *ops, RhPass pass)
{
    int64_t w = columns_of(ops);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, w);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops, w);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops, w);
}

/* Kept: the first matrix' output, the convolution's input and output, what the norm makes, and the second matrix' input.
 * Working: gradients of these. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double n = elements_of(ops, columns_of(ops)), e = ops->element_bytes;
    double wide = e * rh_ops_hidden_elements(ops), gathered = rh_ops_gathered_bytes(ops);
    return (RhOperatorBytes){.kept =
                                 (5 * e + rh_ops_norm_copies(ops)) * n + rh_ops_kept_bytes(ops) * n,
                             .forward = wide + gathered,
                             .backward = 5 * e * n + wide + gathered};
}

const RhOperator rh_glu_convolution = {.name = "gated convolution",
                                       .shape = shape,
                                       .params = params,
                                       .flops = flops,
                                       .kernels = kernels,
                                       .bytes = bytes};
