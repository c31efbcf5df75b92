/* Tokens from a sound as it is sampled (wav2vec 2.0, arXiv 2006.11477, section 2): seven convolutions over time of 512
 * channels make one token of 320 samples, a norm and a matrix give it h columns, and a grouped convolution over tokens adds
 * what stands for positions (or several: data2vec, arXiv 2202.03555). Every tensor-parallel rank has all of it. Convolutions
 * are products of as many columns as they have taps; a group's of positions run as one. A norm stands behind the first
 * convolution, or behind each. */
#include "workloads/operators/operator.h"

#define CHANNELS     512
#define CONVOLUTIONS 7
/* Taps of each, and what it makes for one token. */
static const struct {
    int64_t in, taps, frames;
} STACK[CONVOLUTIONS] = {{1, 10, 64},      {CHANNELS, 3, 32}, {CHANNELS, 3, 16}, {CHANNELS, 3, 8},
                         {CHANNELS, 3, 4}, {CHANNELS, 2, 2},  {CHANNELS, 2, 1}};

/* GELU reads and writes; backward reads two and writes one. */
static const RhStream GELU = {RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              1,
                              0,
                              0};

/* Columns that an output of the positions' convolution reads: a group's, of each tap. */
static int64_t around(const RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    return ops->model->hidden / MAX(w->groups, 1) * w->taps;
}

static double frames_all(void)
{
    double sum = 0;
    for (int i = 0; i < CONVOLUTIONS; i++)
        sum += (double)STACK[i].frames;
    return sum;
}

/* Beside matrices: biases, scales and shifts of the norms, the scale of each tap, where one convolution is for positions, and
 * the vector that hidden tokens have. */
static RhParams params(const RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    double h = (double)ops->model->hidden, sum = 0;
    for (int i = 0; i < CONVOLUTIONS; i++)
        sum += (double)(STACK[i].in * STACK[i].taps * CHANNELS) + (w->bias ? CHANNELS : 0);
    sum += 2.0 * CHANNELS * (w->norms + 1);
    sum += (CHANNELS + 1) * h;
    sum += w->layers * h * ((double)around(ops) + 1) + (w->layers == 1 ? (double)w->taps : 0);
    return (RhParams){.replicated = sum + h};
}

static RhFlops flops(const RhOps *ops)
{
    double h = (double)ops->model->hidden, entries = CHANNELS * h;
    for (int i = 0; i < CONVOLUTIONS; i++)
        entries += (double)(STACK[i].frames * STACK[i].in * STACK[i].taps * CHANNELS);
    entries += ops->model->waves.layers * h * (double)around(ops);
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries};
}

static void activate(RhOps *ops, double elements, bool normed, bool backward)
{
    if (normed && !backward)
        rh_ops_norm(ops, elements, false);
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GELU, elements, backward);
    if (normed && backward)
        rh_ops_norm(ops, elements, true);
}

/* Of the i-th convolution, so many rows. */
static int64_t rows_of(const RhOps *ops, int i)
{
    return ops->tokens * STACK[i].frames;
}

static void forward(RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    int64_t h = ops->model->hidden;
    for (int i = 0; i < CONVOLUTIONS; i++) {
        rh_ops_gemm(ops, 1, rows_of(ops, i), CHANNELS, STACK[i].in * STACK[i].taps);
        activate(ops, (double)rows_of(ops, i) * CHANNELS, i < w->norms, false);
    }
    rh_ops_norm(ops, (double)ops->tokens * CHANNELS, false);
    rh_ops_gemm(ops, 1, ops->tokens, h, CHANNELS);
    for (int i = 0; i < w->layers; i++) {
        rh_ops_gemm(ops, w->groups, ops->tokens, h / MAX(w->groups, 1), around(ops));
        activate(ops, rh_ops_hidden_elements(ops), false, false);
    }
}

static void backward(RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    int64_t h = ops->model->hidden;
    for (int i = 0; i < w->layers; i++) {
        activate(ops, rh_ops_hidden_elements(ops), false, true);
        rh_ops_gemm(ops, w->groups, ops->tokens, around(ops), h / MAX(w->groups, 1));
    }
    rh_ops_gemm(ops, 1, ops->tokens, CHANNELS, h);
    rh_ops_norm(ops, (double)ops->tokens * CHANNELS, true);
    for (int i = CONVOLUTIONS - 1; i >= 0; i--) {
        activate(ops, (double)rows_of(ops, i) * CHANNELS, i < w->norms, true);
        if (i > 0) /* sounds have no gradient */
            rh_ops_gemm(ops, 1, rows_of(ops, i), STACK[i].in * STACK[i].taps, CHANNELS);
    }
}

static void weight_gradients(RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    int64_t h = ops->model->hidden;
    for (int i = 0; i < w->layers; i++) {
        rh_ops_weight_gradient(ops, h, around(ops));
        rh_ops_bias_gradient(ops, h);
    }
    rh_ops_weight_gradient(ops, h, CHANNELS);
    rh_ops_bias_gradient(ops, h);
    for (int i = 0; i < CONVOLUTIONS; i++) {
        RhOps rows = *ops;
        rows.tokens = rows_of(ops, i);
        rh_ops_weight_gradient(&rows, STACK[i].in * STACK[i].taps, CHANNELS);
        if (w->bias)
            rh_ops_bias_gradient(&rows, CHANNELS);
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

/* Kept: the samples, in and out of each activation, what norms read, the matrix' input, in and out of those of positions. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    const RhSound *w = &ops->model->waves;
    double e = ops->element_bytes, n = (double)ops->tokens, wide = rh_ops_hidden_elements(ops);
    double normed = 0;
    for (int i = 0; i < w->norms; i++)
        normed += (double)STACK[i].frames * CHANNELS;
    double first = (double)STACK[0].frames * CHANNELS;
    double columns =
        5.0 * (double)STACK[0].frames + 2 * CHANNELS * frames_all() + normed + CHANNELS;
    return (RhOperatorBytes){.kept = e * (n * columns + (1 + 2 * w->layers) * wide) +
                                     rh_ops_norm_copies(ops) * n * (normed + CHANNELS),
                             .forward = e * n * first,
                             .backward = 2 * e * n * first};
}

const RhOperator rh_waves = {
    .name = "waves", .params = params, .flops = flops, .kernels = kernels, .bytes = bytes};
