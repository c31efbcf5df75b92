/* A gated short convolution (LFM2, Liquid AI 2025, arXiv 2511.23404): one matrix in, for two gates and a
 * value of the hidden size each; the value times the first gate goes through a depthwise convolution of a
 * few taps; times the second gate it goes through one matrix out. Nothing else passes between tokens. */
#include "workloads/operators/linear_mixer_scan.h"

/* Traffic of a product of two columns: read both, write one; backward read three, write two. */
static const RhStream PRODUCT = {2 * RH_READ + RH_WRITE,
                                 3 * RH_READ + 2 * RH_WRITE,
                                 2 * RH_READ + RH_WRITE,
                                 3 * RH_READ + 2 * RH_WRITE,
                                 1,
                                 0,
                                 0};

static int64_t columns_of(const RhOps *ops)
{
    return (int64_t)rh_ops_cut(ops, ops->kind->heads) * ops->kind->head_size;
}

/* Shape. Heads only divide the columns over tensor ranks. */
static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->attention.num_attention_heads;
    kind->head_size = (int32_t)(c->hidden_size / MAX(c->attention.num_attention_heads, 1));
    kind->conv_kernel = (int32_t)c->ssm.conv_kernel;
    kind->conv_bias = c->ssm.conv_bias != 0;
    kind->qkv_bias = kind->o_bias = c->ssm.conv_bias != 0;
    kind->window_tokens = (int32_t)c->ssm.conv_kernel;
}

static RhParams params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, w = (double)columns_of(ops);
    double bias = ops->kind->qkv_bias ? 1 : 0;
    return (RhParams){.sharded = 4 * h * w + 3 * bias * w + rh_scan_convolution_params(ops, w),
                      .replicated = bias * h};
}

static RhFlops flops(const RhOps *ops)
{
    double w = (double)columns_of(ops);
    return (RhFlops){.weights = 8 * (double)ops->tokens * (double)ops->model->hidden * w +
                                rh_scan_convolution_flops(ops, w)};
}

static void product(RhOps *ops, int64_t columns, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &PRODUCT, (double)ops->tokens * (double)columns,
                       backward);
}

static void forward(RhOps *ops, int64_t w)
{
    rh_ops_linear(ops, ops->tokens, 3 * w, ops->model->hidden);
    product(ops, w, false);
    rh_scan_convolve(ops, (double)w, false);
    product(ops, w, false);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w);
}

static void backward(RhOps *ops, int64_t w)
{
    rh_ops_linear(ops, ops->tokens, w, ops->model->hidden);
    product(ops, w, true);
    rh_scan_convolve(ops, (double)w, true);
    product(ops, w, true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, 3 * w);
}

static void weight_gradients(RhOps *ops, int64_t w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w);
    rh_scan_taps_gradient(ops, (double)w);
    rh_scan_in_gradient(ops, 3 * w);
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

/* Bytes. Kept: the first matrix' output, the convolution's input and output, and the second matrix'
 * input. Working: their gradients. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double n = (double)ops->tokens * (double)columns_of(ops), e = ops->element_bytes;
    double wide = e * rh_ops_hidden_elements(ops), gathered = rh_ops_gathered_bytes(ops);
    return (RhOperatorBytes){.kept = 5 * e * n + rh_ops_kept_bytes(ops) * n,
                             .forward = wide + gathered,
                             .backward = 5 * e * n + wide + gathered};
}

/* Cache: the taps' last inputs of each sequence. */
static RhCacheBytes cache(const RhOps *ops)
{
    return (RhCacheBytes){.sequence = ops->element_bytes *
                                      (double)(columns_of(ops) * ops->kind->conv_kernel)};
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    int64_t w = columns_of(ops);
    double input = (double)(ops->tokens * w) * rh_ops_kept_bytes(ops);
    return rh_scan_linears(ops, 3 * w, w, input, list);
}

const RhOperator rh_short_convolution = {.name = "short convolution",
                                         .shape = shape,
                                         .params = params,
                                         .flops = flops,
                                         .kernels = kernels,
                                         .bytes = bytes,
                                         .cache = cache,
                                         .linears = linears};
