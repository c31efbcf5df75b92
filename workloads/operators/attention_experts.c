/* A mixture of attention heads (Zhang et al. 2022, arXiv 2210.05144; JetMoE, arXiv 2404.07413, section 2.3): keys and values are
 * every token's, as many heads of them as one expert has of queries; a router sends the token to k of E experts, each a matrix
 * of queries and one of outputs, whose results are summed by the router's weights. So a token has k times as many heads of
 * queries as of keys. Tensor parallelism cuts heads; all ranks of expert parallelism have all of these experts. Two biases of
 * the hidden size are counted here, of which one is added behind the layer's other mixture. Formulas: docs/theory/workload.md. */
#include "workloads/operators/grouped.h"

/* A probability, as of a mixture (mixture.c): read the logit, write in fp32, read to choose; backward reads it and its
 * gradient and writes the logit's. */
#define CHOICE_FORWARD  (RH_READ + 2 * RH_FP32)
#define CHOICE_BACKWARD (2 * RH_FP32 + RH_WRITE)

/* One rank's heads of keys, columns of these, which are an expert's of queries, too; copies of tokens. */
typedef struct {
    int64_t heads, columns, copies;
    RhRouted routed;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = MAX(rh_ops_cut(ops, kind->kv_heads), 1),
                .copies = ops->tokens * kind->experts_per_token};
    w.columns = w.heads * kind->head_size;
    w.routed = (RhRouted){.experts = kind->experts,
                          .tokens = w.copies,
                          .in = ops->model->hidden,
                          .up = w.columns,
                          .down = w.columns,
                          .from = (double)ops->tokens,
                          .sent = (double)w.copies,
                          .come = (double)w.copies,
                          .busiest = 1,
                          .routing = {kind->experts, kind->experts_per_token, 1, 1, 0, 0}};
    return w;
}

static void resolve(RhConfig *c)
{
    c->heads = c->kv_heads * MAX(c->experts_per_token, 1);
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    kind->experts = (int32_t)c->experts;
    kind->experts_per_token = (int32_t)c->experts_per_token;
}

static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, e = ops->kind->experts;
    return (RhParams){.sharded = (2 * e + 2) * h * (double)w.columns, .replicated = h * (e + 2)};
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    int64_t d = ops->kind->head_size;
    return (RhCore){.heads = w->heads * ops->kind->experts_per_token,
                    .kv_heads = w->heads,
                    .key = d,
                    .value = d};
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double h = (double)ops->model->hidden, n = (double)ops->tokens, columns = (double)w.columns;
    return (RhFlops){.weights = 2 * n * h * (2 * columns + ops->kind->experts) +
                                4 * (double)w.copies * h * columns,
                     .pairs = rh_core_flops(ops, &core, false)};
}

/* --- Kernels --- */

/* Between the order of tokens and that of experts: so many elements are read and written. */
static void copy(RhOps *ops, double elements)
{
    rh_ops_stream(ops, RH_KERNEL_ADD, ops->element_bytes * elements, 1);
}

/* Hidden states, once and for each expert; and what experts make or read, before and behind. */
static double hidden_moved(const RhOps *ops, const Widths *w)
{
    return (double)(ops->tokens + w->copies) * (double)ops->model->hidden;
}

static double columns_moved(const Widths *w)
{
    return 2 * (double)w->copies * (double)w->columns;
}

static void choose(RhOps *ops, double bytes)
{
    rh_ops_stream(ops, RH_KERNEL_ACTIVATION, bytes * (double)ops->tokens * ops->kind->experts, 1);
}

static void rotate(RhOps *ops, const Widths *w, bool backward)
{
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_rotary(ops, (double)(ops->tokens + w->copies) * (double)w->columns, backward);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhCore core = core_of(ops, w);
    int64_t h = ops->model->hidden;
    rh_ops_gemm(ops, 1, ops->tokens, ops->kind->experts, h);
    choose(ops, CHOICE_FORWARD);
    rh_ops_linear(ops, ops->tokens, 2 * w->columns, h);
    copy(ops, hidden_moved(ops, w));
    rh_grouped_gemm(ops, &w->routed, w->columns, h);
    copy(ops, columns_moved(w));
    rotate(ops, w, false);
    rh_core_kernels(ops, &core, pass);
    copy(ops, columns_moved(w));
    rh_grouped_gemm(ops, &w->routed, h, w->columns);
    copy(ops, hidden_moved(ops, w));
}

static void backward(RhOps *ops, const Widths *w)
{
    RhCore core = core_of(ops, w);
    int64_t h = ops->model->hidden;
    copy(ops, hidden_moved(ops, w));
    rh_grouped_gemm(ops, &w->routed, w->columns, h);
    copy(ops, columns_moved(w));
    rh_core_kernels(ops, &core, RH_PASS_BACKWARD_DATA);
    rotate(ops, w, true);
    copy(ops, columns_moved(w));
    rh_grouped_gemm(ops, &w->routed, h, w->columns);
    copy(ops, hidden_moved(ops, w));
    rh_ops_linear(ops, ops->tokens, h, 2 * w->columns);
    choose(ops, CHOICE_BACKWARD);
    rh_ops_gemm(ops, 1, ops->tokens, h, ops->kind->experts);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    rh_grouped_gradient(ops, &w->routed, h, w->columns);
    rh_grouped_gradient(ops, &w->routed, w->columns, h);
    rh_ops_linear_gradient(ops, 2 * w->columns, h);
    rh_ops_weight_gradient(ops, ops->kind->experts, h);
    rh_ops_bias_gradient(ops, 2 * h);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, &w, pass);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops, &w);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops, &w);
    else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_CORE))
        rh_core_kernels(ops, &core, pass);
}

/* Kept: probabilities, tokens in the order of experts, queries, keys and values, the output in either order. Working: copies of
 * tokens, or of their gradients. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double e = ops->element_bytes, n = (double)ops->tokens, copies = (double)w.copies;
    double columns = (double)w.columns, operand = rh_ops_kept_bytes(ops);
    double of_core = rh_core_kept_bytes(ops, &core);
    double row = RH_FP32 * ops->kind->experts + 2 * e * columns;
    double wide = e * copies * (double)ops->model->hidden;
    return (RhOperatorBytes){
        .kept = n * row + operand * copies * ((double)ops->model->hidden + columns) +
                2 * e * copies * columns + of_core,
        .dropped = rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0,
        .forward = wide + e * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops),
        .backward = rh_core_backward_bytes(ops, &core) + wide};
}

static RhCacheBytes cache(const RhOps *ops)
{
    return rh_ops_cached(ops, 2 * (double)widths_of(ops).columns);
}

const RhOperator rh_attention_of_experts = {.name = "attention of experts",
                                            .resolve = resolve,
                                            .shape = shape,
                                            .params = params,
                                            .flops = flops,
                                            .kernels = kernels,
                                            .bytes = bytes,
                                            .cache = cache,
                                            .modules = RH_RECOMPUTE_CORE};
