/* A layer of long short-term memory (Hochreiter and Schmidhuber 1997; gates as PyTorch's nn.LSTM has them): four
 * gates of w columns from the layer's input (one product over all tokens, as cuDNN makes it: Appleyard et al. 2016,
 * arXiv 1604.01946, section 3.4), and from its own output one token before: a product a token, one after the
 * other. Where w is not the hidden size a matrix leads back to it. Formulas: docs/theory/workload.md.
 *
 * The product of a token reads the matrix that the token before read. Devices whose caches hold it (`cache`) read
 * it there (Zhang et al. 2018, USENIX ATC: DeepCPU keeps each core's part in that core's cache); others read it from
 * memory for every token, which is what bounds them. */
#include "workloads/operators/operator.h"

#define GATES 4

/* Bytes of a token's gates and state in 2-byte elements: read gates from input and from output, and the cell; write
 * gates, the cell and the output. Backward: read gates, two cells and the gradients of output and cell; write those of
 * the gates and of the cell. */
static const RhStream CELL = {2 * GATES * RH_READ + RH_READ + (GATES + 2) * RH_WRITE,
                              (GATES + 4) * RH_READ + (GATES + 1) * RH_WRITE,
                              2 * GATES *RH_READ + RH_READ + (GATES + 2) * RH_WRITE,
                              (GATES + 4) * RH_READ + (GATES + 1) * RH_WRITE,
                              1,
                              0,
                              0};

static int64_t width_of(const RhOps *ops)
{
    return ops->kind->state_size;
}

static bool leads_back(const RhOps *ops)
{
    return width_of(ops) != ops->model->hidden;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->state_size = (int32_t)c->ssm.num_heads;
    kind->qkv_bias = c->ssm.proj_bias != 0;
}

static double entries_of(const RhOps *ops)
{
    double h = (double)ops->model->hidden, w = (double)width_of(ops);
    return GATES * w * (h + w) + (leads_back(ops) ? w * h : 0);
}

static RhParams params(const RhOps *ops)
{
    double biases = ops->kind->qkv_bias ? GATES * (double)width_of(ops) : 0;
    return (RhParams){.replicated = entries_of(ops) + biases};
}

static RhFlops flops(const RhOps *ops)
{
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries_of(ops)};
}

/* --- Kernels --- */

/* The steps from token to token: a product of all sequences' rows, and the cell's own pass. */
static void steps(RhOps *ops, int64_t columns, int64_t rows, bool backward)
{
    guint first = ops->out->len;
    for (int64_t token = 0; token < ops->queries; token++) {
        rh_ops_gemm(ops, 1, ops->sequences, columns, rows);
        g_array_index(ops->out, RhKernel, ops->out->len - 1).again = token > 0;
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &CELL,
                           (double)(ops->sequences * width_of(ops)), backward);
    }
    rh_ops_mark_core(ops, first);
}

static void forward(RhOps *ops, int64_t h, int64_t w)
{
    rh_ops_linear(ops, ops->tokens, GATES * w, h);
    steps(ops, GATES * w, w, false);
    if (leads_back(ops))
        rh_ops_linear(ops, ops->tokens, h, w);
}

static void backward_data(RhOps *ops, int64_t h, int64_t w)
{
    if (leads_back(ops))
        rh_ops_linear(ops, ops->tokens, w, h);
    steps(ops, w, GATES * w, true);
    rh_ops_linear(ops, ops->tokens, h, GATES * w);
}

static void backward_weight(RhOps *ops, int64_t h, int64_t w)
{
    rh_ops_linear_gradient(ops, GATES * w, h);
    rh_ops_linear_gradient(ops, GATES * w, w);
    if (leads_back(ops))
        rh_ops_linear_gradient(ops, h, w);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, GATES * w);
}

static void kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, w = width_of(ops);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, h, w);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward_data(ops, h, w);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        backward_weight(ops, h, w);
}

/* Bytes. Kept: the input, the gates, and the cell and output of every token. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double n = (double)ops->tokens * (double)width_of(ops), e = ops->element_bytes;
    double wide = e * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = rh_ops_kept_bytes(ops) * rh_ops_hidden_elements(ops) +
                                     (GATES + 2) * e * n,
                             .forward = wide + GATES * e * n,
                             .backward = wide + GATES * e * n};
}

/* Cache: the cell and the output of each sequence. */
static RhCacheBytes cache(const RhOps *ops)
{
    return (RhCacheBytes){.sequence = 2 * ops->element_bytes * (double)width_of(ops)};
}

const RhOperator rh_lstm = {.name = "LSTM",
                            .shape = shape,
                            .params = params,
                            .flops = flops,
                            .kernels = kernels,
                            .bytes = bytes,
                            .cache = cache,
                            .alone = true};
