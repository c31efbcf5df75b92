/* Two towers side by side, one that sees and one that reads (CLIP, arXiv 2103.00020, section 2.3; SigLIP, arXiv 2303.15343). Of a
 * picture one token is normed and projected, or all are, and a probe looks at them (the head of arXiv 2106.04560, section 3.2: one
 * query, attention, a network); of a text one token is projected. Both are normed, and the loss is of the products of all samples of a
 * micro-batch. Every tensor-parallel rank has these ends whole. Left out, of trainers that gather other replicas' columns: their products, and the
 * exchange. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* --- The end of the tower that sees: behind its last layer's network --- */

/* Samples, the tower's columns, those of a sample behind it, those of the probe's network; tokens of a sample. */
typedef struct {
    int64_t samples, h, columns, ffn, each;
} Sizes;

static Sizes sizes_of(const RhOps *ops)
{
    return (Sizes){.samples = ops->sequences,
                   .h = ops->model->hidden,
                   .columns = ops->kind->projection,
                   .ffn = ops->kind->pools_by_probe ? ops->kind->ffn_width : 0,
                   .each = ops->queries};
}

/* The same with a row for each sample. */
static RhOps of_samples(const RhOps *ops)
{
    RhOps rows = *ops;
    rows.tokens = ops->sequences;
    return rows;
}

/* A norm and a projection; and the probe, four matrices with biases, a norm, a network with biases. */
static RhParams end_params(const RhOps *ops)
{
    RhParams p = ops->kind->inner_ffn->params(ops);
    Sizes z = sizes_of(ops);
    double h = (double)z.h, f = (double)z.ffn, norm = rh_ops_norm_params(ops);
    p.replicated += norm + h * (double)z.columns;
    if (ops->kind->pools_by_probe)
        p.replicated += h + 4 * (h * h + h) + norm + 2 * h * f + f + h;
    return p;
}

/* Keys and values of all tokens; of a sample a query, an output and the network. */
static RhFlops end_flops(const RhOps *ops)
{
    RhFlops sum = ops->kind->inner_ffn->flops(ops);
    Sizes z = sizes_of(ops);
    double h = (double)z.h, n = (double)z.samples;
    sum.weights += 2 * n * h * (double)z.columns;
    if (ops->kind->pools_by_probe) {
        sum.weights += 2 * ((double)ops->tokens * 2 * h * h + n * 2 * h * (h + (double)z.ffn));
        sum.pairs += 4 * n * (double)z.each * h;
    }
    return sum;
}

/* One query a head; the scores are too few to count. */
static void probe_core(RhOps *ops, const Sizes *z, bool backward)
{
    int64_t heads = ops->kind->heads, d = z->h / heads, batch = z->samples * heads;
    for (int i = 0; i < (backward ? 2 : 1); i++) {
        rh_ops_gemm(ops, batch, 1, z->each, d);
        rh_ops_gemm(ops, batch, 1, d, z->each);
    }
}

static void probe_forward(RhOps *ops, const Sizes *z)
{
    RhOps rows = of_samples(ops);
    rh_ops_gemm(ops, 1, ops->tokens, 2 * z->h, z->h);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->h);
    probe_core(ops, z, false);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->h);
    rh_ops_norm(ops, (double)(z->samples * z->h), false);
    rh_ops_gemm(ops, 1, z->samples, z->ffn, z->h);
    rh_ffn_activation(&rows, (double)(z->samples * z->ffn), false);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->ffn);
}

static void probe_backward(RhOps *ops, const Sizes *z)
{
    RhOps rows = of_samples(ops);
    rh_ops_gemm(ops, 1, z->samples, z->ffn, z->h);
    rh_ffn_activation(&rows, (double)(z->samples * z->ffn), true);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->ffn);
    rh_ops_norm(ops, (double)(z->samples * z->h), true);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->h);
    probe_core(ops, z, true);
    rh_ops_gemm(ops, 1, z->samples, z->h, z->h);
    rh_ops_gemm(ops, 1, ops->tokens, z->h, 2 * z->h);
}

static void end_weight_gradients(RhOps *ops, const Sizes *z)
{
    RhOps rows = of_samples(ops);
    if (z->columns > 0)
        rh_ops_weight_gradient(&rows, z->columns, z->h);
    if (!ops->kind->pools_by_probe)
        return;
    rh_ops_weight_gradient(&rows, z->h, z->ffn);
    rh_ops_weight_gradient(&rows, z->ffn, z->h);
    for (int i = 0; i < 2; i++) /* output, queries */
        rh_ops_weight_gradient(&rows, z->h, z->h);
    rh_ops_weight_gradient(ops, 2 * z->h, z->h);
}

/* What a norm before it reads: all tokens, or one of each sample. */
static double normed(const RhOps *ops)
{
    return ops->kind->pools_by_probe ? rh_ops_sequence_elements(ops)
                                     : (double)ops->sequences * (double)ops->model->hidden;
}

static void end_forward(RhOps *ops, const Sizes *z)
{
    rh_ops_norm(ops, normed(ops), false);
    if (ops->kind->pools_by_probe)
        probe_forward(ops, z);
    if (z->columns > 0)
        rh_ops_gemm(ops, 1, z->samples, z->columns, z->h);
}

static void end_backward(RhOps *ops, const Sizes *z)
{
    if (z->columns > 0)
        rh_ops_gemm(ops, 1, z->samples, z->h, z->columns);
    if (ops->kind->pools_by_probe)
        probe_backward(ops, z);
    rh_ops_norm(ops, normed(ops), true);
}

static void end_kernels(RhOps *ops, RhPass pass)
{
    Sizes z = sizes_of(ops);
    if (pass == RH_PASS_BACKWARD_DATA)
        end_backward(ops, &z);
    ops->kind->inner_ffn->kernels(ops, pass);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        end_forward(ops, &z);
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        end_weight_gradients(ops, &z);
}

/* Kept besides: input and output of the norm; keys, values; of a sample the query, what attention puts out, input and output of a norm
 * and of an activation. Working: keys' and values' gradients. */
static RhOperatorBytes end_bytes(const RhOps *ops)
{
    RhOperatorBytes b = ops->kind->inner_ffn->bytes(ops);
    Sizes z = sizes_of(ops);
    double e = ops->element_bytes, pairs = 2 * (double)(ops->tokens * z.h);
    b.kept += (2 * e + rh_ops_norm_copies(ops)) * normed(ops) +
              e * (double)(z.samples * (z.columns > 0 ? z.columns : z.h));
    if (!ops->kind->pools_by_probe)
        return b;
    b.kept += e * pairs + e * (double)(z.samples * (4 * z.h + 2 * z.ffn));
    b.backward = MAX(b.backward, e * (pairs + rh_ops_hidden_elements(ops)));
    return b;
}

static int end_linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return ops->kind->inner_ffn->linears(ops, list);
}

void rh_tower_end_wrap(RhLayerKind *kind, int32_t projection, bool probe)
{
    kind->inner_ffn = kind->ffn;
    kind->ffn = &rh_tower_end;
    kind->projection = projection;
    kind->pools_by_probe = probe;
}

const RhOperator rh_tower_end = {.name = "ffn, then what a tower makes of a sample",
                                 .params = end_params,
                                 .flops = end_flops,
                                 .kernels = end_kernels,
                                 .bytes = end_bytes,
                                 .linears = end_linears,
                                 .gathers_operands = true};

/* --- The loss, behind the tower that reads --- */

static RhParams contrast_params(const RhOps *ops)
{
    double columns = (double)ops->model->paired, h = (double)ops->model->hidden;
    return (RhParams){.replicated = columns * (h + (ops->model->projection_bias ? 1 : 0)) +
                                    ops->model->loss_params};
}

static double logits_of(const RhOps *ops)
{
    return (double)ops->sequences * (double)ops->sequences;
}

static RhFlops contrast_flops(const RhOps *ops)
{
    double columns = (double)ops->model->paired, h = (double)ops->model->hidden;
    return (RhFlops){.weights = 2 * (double)ops->sequences * columns * h,
                     .pairs = 2 * logits_of(ops) * columns};
}

/* Both towers' columns are normed, and multiplied; the loss reads the logits and writes as many numbers, in fp32. */
static void contrast_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, columns = ops->model->paired, n = ops->sequences;
    double loss = (RH_FP32 + RH_FP32) * logits_of(ops);
    RhOps rows = of_samples(ops);
    if (rh_pass_is_forward(pass)) {
        rh_ops_gemm(ops, 1, n, columns, h);
        rh_ops_norm(ops, 2.0 * (double)(n * columns), false);
        rh_ops_gemm(ops, 1, n, n, columns);
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, loss, 1);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, loss, 1);
        for (int i = 0; i < 2; i++)
            rh_ops_gemm(ops, 1, n, columns, n);
        rh_ops_norm(ops, 2.0 * (double)(n * columns), true);
        rh_ops_gemm(ops, 1, n, h, columns);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(&rows, columns, h);
        if (ops->model->projection_bias)
            rh_ops_bias_gradient(&rows, columns);
    }
}

/* Kept: the logits in fp32; columns of both before their norm and behind it. */
static RhOperatorBytes contrast_bytes(const RhOps *ops)
{
    double e = ops->element_bytes, both = 2.0 * (double)(ops->sequences * ops->model->paired);
    double hidden = e * (double)ops->sequences * (double)ops->model->hidden;
    return (RhOperatorBytes){.kept = RH_FP32 * logits_of(ops) + 2 * e * both,
                             .forward = RH_FP32 * logits_of(ops),
                             .backward = RH_FP32 * logits_of(ops) + hidden};
}

const RhOperator rh_contrast = {.name = "products of pictures and texts",
                                .params = contrast_params,
                                .flops = contrast_flops,
                                .kernels = contrast_kernels,
                                .bytes = contrast_bytes};
