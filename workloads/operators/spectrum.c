/* Tokens from a spectrum as a picture of B rows (FastConformer, Rekesh et al. 2023, arXiv 2305.05084, section 2.1; transformers'
 * modeling_parakeet.py): convolutions of three by three in steps of two, of C channels, the first whole, each further one a depthwise one
 * and a matrix at every place; H of them leave 2^H frames a token and B / 2^H rows, whose channels one matrix makes h columns. ReLU
 * behind each. The spectrum has no gradient. Every tensor-parallel rank has all of it. */
#include "workloads/operators/operator.h"

#define TAPS 9.0

static const RhStream RELU = {RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              1,
                              0,
                              0};

static int32_t halvings(const RhOps *ops)
{
    return ops->model->spectrum.halvings;
}

static int64_t channels(const RhOps *ops)
{
    return ops->model->spectrum.channels;
}

/* Places behind so many halvings, of all tokens. */
static int64_t places(const RhOps *ops, int32_t i)
{
    int64_t frames = INT64_C(1) << (halvings(ops) - i), rows = ops->model->spectrum.rows >> i;
    return ops->tokens * frames * rows;
}

static double elements(const RhOps *ops, int32_t i)
{
    return (double)places(ops, i) * (double)channels(ops);
}

/* Columns that the last matrix reads of a token. */
static int64_t columns(const RhOps *ops)
{
    return channels(ops) * (ops->model->spectrum.rows >> halvings(ops));
}

static RhParams params(const RhOps *ops)
{
    double c = (double)channels(ops), h = (double)ops->model->hidden;
    return (RhParams){.replicated = (TAPS + 1) * c +
                                    (halvings(ops) - 1) * ((TAPS + 1) * c + (c + 1) * c) +
                                    h * ((double)columns(ops) + 1)};
}

static RhFlops flops(const RhOps *ops)
{
    double c = (double)channels(ops);
    double sum = TAPS * elements(ops, 1) + (double)columns(ops) * rh_ops_hidden_elements(ops);
    for (int32_t i = 2; i <= halvings(ops); i++)
        sum += (TAPS + c) * elements(ops, i);
    return (RhFlops){.weights = 2 * sum};
}

/* The depthwise convolution that makes the i-th: its input and its output once. */
static void taps(RhOps *ops, int32_t i, bool weights)
{
    double bytes = ops->element_bytes * (elements(ops, i - 1) + elements(ops, i));
    rh_ops_stream(ops, RH_KERNEL_DEPTHWISE, bytes, 1);
    g_array_index(ops->out, RhKernel, ops->out->len - 1).flops = 2 * TAPS * elements(ops, i);
    if (weights)
        rh_ops_add_gradient(ops, TAPS * (double)channels(ops));
}

static void activate(RhOps *ops, int32_t i, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &RELU, elements(ops, i), backward);
}

static void forward(RhOps *ops)
{
    int64_t c = channels(ops);
    rh_ops_gemm(ops, 1, places(ops, 1), c, (int64_t)TAPS);
    activate(ops, 1, false);
    for (int32_t i = 2; i <= halvings(ops); i++) {
        taps(ops, i, false);
        rh_ops_gemm(ops, 1, places(ops, i), c, c);
        activate(ops, i, false);
    }
    rh_ops_gemm(ops, 1, ops->tokens, ops->model->hidden, columns(ops));
}

static void backward(RhOps *ops)
{
    int64_t c = channels(ops);
    rh_ops_gemm(ops, 1, ops->tokens, columns(ops), ops->model->hidden);
    for (int32_t i = halvings(ops); i >= 2; i--) {
        activate(ops, i, true);
        rh_ops_gemm(ops, 1, places(ops, i), c, c);
        taps(ops, i, false);
    }
    activate(ops, 1, true);
}

static void weight_gradients(RhOps *ops)
{
    int64_t c = channels(ops), h = ops->model->hidden;
    RhOps rows = *ops;
    rh_ops_weight_gradient(ops, columns(ops), h);
    rh_ops_bias_gradient(ops, h);
    for (int32_t i = halvings(ops); i >= 2; i--) {
        rows.tokens = places(ops, i);
        rh_ops_weight_gradient(&rows, c, c);
        taps(ops, i, true);
        for (int k = 0; k < 2; k++)
            rh_ops_bias_gradient(&rows, c);
    }
    rows.tokens = places(ops, 1);
    rh_ops_weight_gradient(&rows, (int64_t)TAPS, c);
    rh_ops_bias_gradient(&rows, c);
}

static void kernels(RhOps *ops, RhPass pass)
{
    if (rh_pass_is_forward(pass))
        forward(ops);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops);
}

/* Kept: the spectrum; of each halving what ReLU makes in its place, and what a depthwise convolution does. Working: gradients of the
 * largest and what it came from. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double e = ops->element_bytes, sum = (double)places(ops, 0) + elements(ops, 1);
    for (int32_t i = 2; i <= halvings(ops); i++)
        sum += 2 * elements(ops, i);
    double output = rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = e * sum,
                             .forward = e * output,
                             .backward = e * (output + elements(ops, 1) + elements(ops, 2))};
}

const RhOperator rh_spectrum = {
    .name = "spectrum", .params = params, .flops = flops, .kernels = kernels, .bytes = bytes};
