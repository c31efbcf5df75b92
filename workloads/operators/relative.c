/* Attention whose scores are of contents and of distances (Transformer-XL, Dai et al. 2019, arXiv 1901.02860, section 3.3): to the
 * product of a query and a key is added that of the query and what a matrix of the layer makes of their distance, R of which there are
 * for s tokens, 2 s both ways; either product has a bias of its own for the query. XLNet (arXiv 1906.08237) makes these rows for every
 * sample, and adds a third product, with what stands for tokens of the same segment or of another, which is left out but for its
 * parameters; Conformers (arXiv 2005.08100) make them once. Nothing learns the distances themselves. Scores by distance are s by R,
 * shifted to s by s: no fused kernel does that, so scores are written and read, whatever the stack has. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* One rank's heads, their columns, and rows of distances. */
typedef struct {
    int64_t heads, q, size, distances, rows;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    int64_t heads = rh_ops_cut(ops, ops->kind->heads), d = ops->kind->head_size;
    int64_t distances = (ops->kind->both_ways ? 2 : 1) * ops->keys;
    return (Widths){.heads = heads,
                    .q = heads * d,
                    .size = d,
                    .distances = distances,
                    .rows = distances * (ops->kind->around_own ? ops->sequences : 1)};
}

/* The same with scores that are written and read, where they are by distance, too. */
static RhOps eager_ops(const RhOps *ops, RhShard *shard)
{
    RhOps own = *ops;
    *shard = *ops->shard;
    shard->flash = ops->shard->flash && ops->kind->around == 0;
    own.shard = shard;
    return own;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    kind->around = c->around_used != 0;
    kind->around_own = c->around_own != 0;
    kind->segments = (int32_t)c->segments;
}

/* A matrix, a bias for contents and one for distances; one for segments, and what stands for each. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhParams p = rh_attention.params(ops);
    if (ops->kind->around == 0)
        return p;
    int32_t segments = ops->kind->segments;
    double rows = (double)ops->model->hidden + 2 + (segments > 0 ? 1 + segments : 0);
    p.sharded += rows * (double)w.q;
    return p;
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhFlops f = rh_attention.flops(ops);
    if (ops->kind->around == 0)
        return f;
    f.weights += 2 * (double)w.rows * (double)ops->model->hidden * (double)w.q;
    f.pairs += 2 * (double)ops->tokens * (double)w.distances * (double)w.q;
    return f;
}

/* --- Kernels --- */

/* Scores by distance: read, written in their place, read again with those of contents, whose sum is written. */
static void shift(RhOps *ops, const Widths *w)
{
    double scores = (double)ops->tokens * (double)w->heads * (double)ops->keys;
    double each = RH_READ + RH_WRITE + 2 * RH_READ + RH_WRITE;
    rh_ops_stream(ops, RH_KERNEL_ADD, each / 2 * ops->element_bytes * scores, 2);
}

/* Both biases of queries: read once, written twice. */
static void bias_queries(RhOps *ops, const Widths *w)
{
    double elements = (double)ops->tokens * (double)w->q;
    rh_ops_stream(ops, RH_KERNEL_ADD, (RH_READ + 2 * RH_WRITE) / 2 * ops->element_bytes * elements,
                  2);
}

static void score(RhOps *ops, const Widths *w)
{
    bias_queries(ops, w);
    rh_ops_gemm(ops, ops->sequences * w->heads, ops->queries, w->distances, w->size);
    shift(ops, w);
}

static void score_backward(RhOps *ops, const Widths *w)
{
    int64_t batch = ops->sequences * w->heads, s = ops->queries;
    shift(ops, w);
    rh_ops_gemm(ops, batch, s, w->size, w->distances);
    rh_ops_gemm(ops, batch, w->distances, w->size, s);
    bias_queries(ops, w);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhShard shard;
    RhOps eager = eager_ops(ops, &shard), rows = *ops;
    rh_attention.kernels(&eager, pass);
    if (ops->kind->around == 0)
        return;
    rows.tokens = w.rows;
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL) {
        rh_ops_linear(ops, w.rows, w.q, ops->model->hidden);
        score(ops, &w);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        score_backward(ops, &w);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_linear_gradient(&rows, w.q, ops->model->hidden);
        for (int i = 0; i < 2; i++)
            rh_ops_bias_gradient(ops, w.q);
    } else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_CORE)) {
        score(ops, &w);
    }
}

/* Kept besides: rows of distances, queries with either bias (the second ones). Forward and backward: scores by distance, before they are
 * shifted and behind. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhShard shard;
    RhOps eager = eager_ops(ops, &shard);
    RhOperatorBytes b = rh_attention.bytes(&eager);
    if (ops->kind->around == 0)
        return b;
    double e = ops->element_bytes, each = (double)(ops->tokens * w.heads);
    b.kept += e * ((double)(w.rows * w.q) + (double)(ops->tokens * w.q));
    b.forward += e * each * (double)(w.distances + ops->keys);
    b.backward += e * each * (double)(w.distances + ops->keys);
    return b;
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return rh_attention.linears(ops, list);
}

const RhOperator rh_attention_relative = {.name = "attention by distance",
                                          .shape = shape,
                                          .params = params,
                                          .flops = flops,
                                          .kernels = kernels,
                                          .bytes = bytes,
                                          .cache = NULL,
                                          .linears = linears,
                                          .modules = RH_RECOMPUTE_CORE,
                                          .gathers_operands = true,
                                          .key_heads = true};
