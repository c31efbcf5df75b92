/* The front of an encoder that listens to samples, without a spectrum (Moonshine, Jeffries et al. 2024, arXiv 2410.15608, section 3.1;
 * transformers' modeling_moonshine.py): three convolutions over time make a token of 384 samples, of 127, 7 and 3 taps in steps of 64, 3
 * and 2, of h, 2 h and h channels; tanh and a norm behind the first, GELU behind the others. Convolutions are products of as many columns
 * as they have taps; the samples have no gradient. Every tensor-parallel rank has all of it. */
#include "workloads/operators/operator.h"

#define CONVOLUTIONS 3
/* Channels as multiples of h, the first's input being samples; rows it makes for one token; has it a bias? */
static const struct {
    int64_t in, taps, out, frames;
    bool bias;
} STACK[CONVOLUTIONS] = {{0, 127, 1, 6, false}, {1, 7, 2, 2, true}, {2, 3, 1, 1, true}};

/* An activation reads and writes; backward reads two and writes one. */
static const RhStream ACTIVATION = {RH_READ + RH_WRITE,
                                    2 * RH_READ + RH_WRITE,
                                    RH_READ + RH_WRITE,
                                    2 * RH_READ + RH_WRITE,
                                    1,
                                    0,
                                    0};

/* Of the i-th: numbers that make an output, channels of it, rows. */
static int64_t columns_of(const RhOps *ops, int i)
{
    return MAX(STACK[i].in * ops->model->hidden, 1) * STACK[i].taps;
}

static int64_t channels_of(const RhOps *ops, int i)
{
    return STACK[i].out * ops->model->hidden;
}

static int64_t rows_of(const RhOps *ops, int i)
{
    return STACK[i].frames * ops->tokens;
}

static double elements_of(const RhOps *ops, int i)
{
    return (double)rows_of(ops, i) * (double)channels_of(ops, i);
}

/* Scales and shifts of the norm besides. */
static RhParams params(const RhOps *ops)
{
    double sum = 2 * (double)ops->model->hidden;
    for (int i = 0; i < CONVOLUTIONS; i++)
        sum += (double)channels_of(ops, i) * (double)(columns_of(ops, i) + STACK[i].bias);
    return (RhParams){.replicated = sum};
}

static RhFlops flops(const RhOps *ops)
{
    double entries = 0;
    for (int i = 0; i < CONVOLUTIONS; i++)
        entries +=
            (double)STACK[i].frames * (double)channels_of(ops, i) * (double)columns_of(ops, i);
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries};
}

static void forward(RhOps *ops)
{
    for (int i = 0; i < CONVOLUTIONS; i++) {
        rh_ops_gemm(ops, 1, rows_of(ops, i), channels_of(ops, i), columns_of(ops, i));
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &ACTIVATION, elements_of(ops, i), false);
        if (i == 0)
            rh_ops_norm(ops, elements_of(ops, i), false);
    }
}

static void backward(RhOps *ops)
{
    for (int i = CONVOLUTIONS - 1; i >= 0; i--) {
        if (i == 0)
            rh_ops_norm(ops, elements_of(ops, i), true);
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &ACTIVATION, elements_of(ops, i), true);
        if (i > 0)
            rh_ops_gemm(ops, 1, rows_of(ops, i), columns_of(ops, i), channels_of(ops, i));
    }
}

static void weight_gradients(RhOps *ops)
{
    for (int i = 0; i < CONVOLUTIONS; i++) {
        RhOps rows = *ops;
        rows.tokens = rows_of(ops, i);
        rh_ops_weight_gradient(&rows, columns_of(ops, i), channels_of(ops, i));
        if (STACK[i].bias)
            rh_ops_bias_gradient(&rows, channels_of(ops, i));
    }
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

/* Kept: the samples; in and out of every activation, what the norm makes, all but the last output, which the first layer keeps. Working:
 * the largest two tensors. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double e = ops->element_bytes, sum = (double)rows_of(ops, 0) * 64;
    for (int i = 0; i < CONVOLUTIONS; i++)
        sum += 2 * elements_of(ops, i);
    sum += elements_of(ops, 0) - elements_of(ops, CONVOLUTIONS - 1);
    return (RhOperatorBytes){.kept = e * sum,
                             .forward = e * elements_of(ops, CONVOLUTIONS - 1),
                             .backward = e * 2 * elements_of(ops, 0)};
}

const RhOperator rh_samples = {
    .name = "samples", .params = params, .flops = flops, .kernels = kernels, .bytes = bytes};
