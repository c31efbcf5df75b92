/* Attention of a decoder's tokens to its encoder's output (Vaswani et al. 2017, arXiv 1706.03762,
 * section 3.2.3): queries from the decoder's tokens by one matrix, keys and values from all of the
 * encoder's by another, no mask. The encoder's output itself is kept once, by its last layer
 * (encoder_ends.c). Serving makes keys and values once per request. Formulas:
 * docs/theory/workload.md. */
#include <math.h>

#include "workloads/operators/operator.h"

/* One rank's heads, and columns of its matrices. */
typedef struct {
    int64_t heads, kv_heads, q, kv;
    int64_t rows; /* the encoder's tokens, of all sequences */
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads),
                .kv_heads = MAX(rh_ops_cut(ops, kind->kv_heads), 1),
                .rows = ops->sequences * ops->others};
    w.q = w.heads * kind->head_size;
    w.kv = 2 * w.kv_heads * kind->head_size;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    kind->bidirectional = true;
    kind->cross_width = c->encoder.hidden_size > 0 ? c->encoder.hidden_size : c->hidden_size;
}

static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden;
    return (RhParams){.sharded = 2 * h * (double)w.q + (double)(kind->cross_width * w.kv) +
                                 (kind->qkv_bias ? (double)(w.q + w.kv) : 0),
                      .replicated =
                          (kind->o_bias ? h : 0) + (kind->qk_norm ? 2.0 * kind->head_size : 0)};
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    int64_t d = ops->kind->head_size;
    return (RhCore){.heads = w->heads, .kv_heads = w->kv_heads, .key = d, .value = d};
}

/* Context as the core sees it: keys are the encoder's, whatever the decoder's cache holds. */
static RhOps toward_others(const RhOps *ops)
{
    RhOps view = *ops;
    view.keys = ops->others;
    return view;
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    RhOps view = toward_others(ops);
    double own = 2.0 * (double)ops->model->hidden * (double)w.q;
    double others = (double)ops->kind->cross_width * (double)w.kv;
    return (RhFlops){.weights = 2 * ((double)ops->tokens * own + (double)w.rows * others),
                     .pairs = rh_core_flops(&view, &core, false)};
}

/* --- Kernels --- */

/* Norms of queries and, where `keys` is set, of keys. */
static void norms(RhOps *ops, const Widths *w, bool keys, bool backward)
{
    double elements =
        (double)(ops->tokens * w->q) + (keys ? (double)w->rows * (double)w->kv / 2 : 0);
    if (ops->kind->qk_norm)
        rh_ops_norm(ops, elements, backward);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhCore core = core_of(ops, w);
    int64_t h = ops->model->hidden;
    bool cached = pass == RH_PASS_DECODE || (pass == RH_PASS_PREFILL && ops->shard->cached > 0);
    rh_ops_linear(ops, ops->tokens, w->q, h);
    if (!cached)
        rh_ops_linear(ops, w->rows, w->kv, ops->kind->cross_width);
    norms(ops, w, !cached, false);
    RhOps view = toward_others(ops);
    rh_core_kernels(&view, &core, pass);
    rh_ops_linear(ops, ops->tokens, h, w->q);
}

/* Kernels of backward. The gradient of the encoder's output is added to that of later layers. */
static void backward(RhOps *ops, const Widths *w)
{
    RhCore core = core_of(ops, w);
    int64_t h = ops->model->hidden, width = ops->kind->cross_width;
    double encoded = (double)w->rows * (double)width;
    RhOps view = toward_others(ops);
    rh_ops_linear(ops, ops->tokens, w->q, h);
    rh_core_kernels(&view, &core, RH_PASS_BACKWARD_DATA);
    norms(ops, w, true, true);
    rh_ops_linear(ops, ops->tokens, h, w->q);
    rh_ops_linear(ops, w->rows, width, w->kv);
    rh_ops_stream(ops, RH_KERNEL_ADD, (2 * RH_READ + RH_WRITE) / 2 * ops->element_bytes * encoded,
                  1);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    RhOps others = *ops;
    others.tokens = w->rows;
    rh_ops_linear_gradient(ops, h, w->q);
    rh_ops_linear_gradient(ops, w->q, h);
    rh_ops_linear_gradient(&others, w->kv, ops->kind->cross_width);
    if (ops->kind->o_bias)
        rh_ops_bias_gradient(ops, h);
    if (ops->kind->qkv_bias) {
        rh_ops_bias_gradient(ops, w->q);
        rh_ops_bias_gradient(&others, w->kv);
    }
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    RhOps view = toward_others(ops);
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
    case RH_PASS_PREFILL:
    case RH_PASS_DECODE:
        forward(ops, &w, pass);
        break;
    case RH_PASS_BACKWARD_DATA:
        backward(ops, &w);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        weight_gradients(ops, &w);
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
        if (rh_ops_replays(ops, RH_RECOMPUTE_CORE))
            rh_core_kernels(&view, &core, pass);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* Bytes of the encoder's tokens as sequence-parallel ranks gather them, which are not kept. */
static double gathered_others(const RhOps *ops, const Widths *w)
{
    double whole = ops->element_bytes * (double)w->rows * (double)ops->kind->cross_width;
    return ops->shard->sequence_parallel && ops->model->encoder != NULL ? whole : 0;
}

/* Bytes. Kept: queries, keys and values, the output. Backward: the peak over its kernels, as in any
 * attention; the last holds the gradient of keys and values beside that of the encoder's output. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    RhOps view = toward_others(ops);
    double e = ops->element_bytes, q = (double)(ops->tokens * w.q),
           kv = (double)w.rows * (double)w.kv;
    double of_core = rh_core_kept_bytes(&view, &core), wide = rh_ops_hidden_elements(ops);
    double normed = ops->kind->qk_norm ? (e + rh_ops_norm_copies(ops)) * (q + kv / 2)
                                       : 0; /* before their norm */
    double scores = ops->shard->flash ? 0 : 2 * q / ops->kind->head_size * (double)ops->others;
    double encoded = (double)w.rows * (double)ops->kind->cross_width;
    double gathered = rh_ops_gathered_bytes(ops) + gathered_others(ops, &w);
    double inside = e * (2 * q + kv + scores), out = e * (q + kv + fmax(wide, encoded));
    return (RhOperatorBytes){.kept = e * (2 * q + kv) + rh_ops_kept_copy_bytes(ops) * q + normed +
                                     of_core,
                             .dropped = rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0,
                             .forward = e * wide + gathered,
                             .backward = fmax(e * (wide + q), fmax(inside, out + gathered))};
}

/* Cache: keys and values of the encoder's tokens, however long the answer is. */
static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double e = ops->shard->cache_bytes > 0 ? ops->shard->cache_bytes : ops->element_bytes;
    return (RhCacheBytes){.sequence = e * (double)w.kv * (double)ops->others};
}

/* Linear layers: one matrix for queries, one for keys and values, both under one name. The second
 * one's input is kept by the encoder. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    double narrow = (double)ops->tokens * rh_ops_kept_copy_bytes(ops) * (double)w.q;
    list[0] = (RhLinear){.name = RH_LINEAR_QKV,
                         .in = h,
                         .out = w.q,
                         .by_columns = true,
                         .kept = rh_ops_normed_input_bytes(ops)};
    list[1] = (RhLinear){.name = RH_LINEAR_QKV,
                         .in = ops->kind->cross_width,
                         .out = w.kv,
                         .by_columns = true,
                         .others = w.rows};
    list[2] = (RhLinear){.name = RH_LINEAR_PROJ, .in = w.q, .out = h, .kept = narrow};
    return 3;
}

const RhOperator rh_cross_attention = {.name = "cross attention",
                                       .shape = shape,
                                       .params = params,
                                       .flops = flops,
                                       .kernels = kernels,
                                       .bytes = bytes,
                                       .cache = cache,
                                       .linears = linears,
                                       .modules = RH_RECOMPUTE_CORE,
                                       .gathers_operands = true,
                                       .key_heads = true};
