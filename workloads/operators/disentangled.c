/* DeBERTa's attention (He et al. 2020, arXiv 2006.03654, section 3.2; its second and third versions, arXiv
 * 2111.09543): to the scores of contents are added those of a query with the positions around it and of a key with
 * them. R positions have a table that all layers read; each layer makes keys and queries of it, by the matrices of
 * its tokens or by two of its own. Scores by position are s by R, and gathered to s by s. No fused kernel does
 * that: scores are written and read, whatever the stack has. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* One rank's columns, and positions. */
typedef struct {
    int64_t heads, q, size, rows;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    int64_t heads = rh_ops_cut(ops, ops->kind->heads), d = ops->kind->head_size;
    return (Widths){.heads = heads, .q = heads * d, .size = d, .rows = ops->kind->around};
}

/* The same with scores that are written and read. */
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
    rh_attention_both_ways.shape(c, kind);
    kind->around = (int32_t)MIN(c->around, INT32_MAX);
    kind->around_own = c->around_own != 0;
}

static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhParams p = rh_attention_both_ways.params(ops);
    if (ops->kind->around > 0 && ops->kind->around_own)
        p.sharded += 2 * (double)(ops->model->hidden + 1) * (double)w.q;
    return p;
}

/* Two products of s by R, and the two of positions by matrices, once for all samples of the micro-batch. */
static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhFlops f = rh_attention_both_ways.flops(ops);
    f.weights += 4 * (double)w.rows * (double)ops->model->hidden * (double)w.q;
    f.pairs += 4 * (double)ops->tokens * (double)w.rows * (double)w.q;
    return f;
}

/* --- Kernels --- */

static double scores_of(const RhOps *ops, const Widths *w)
{
    return (double)ops->tokens * (double)w->heads * (double)ops->keys;
}

/* Both gathered (read, written) and added to the scores. */
static void gather(RhOps *ops, const Widths *w)
{
    double each = RH_READ + RH_WRITE + 2 * RH_READ + RH_WRITE;
    rh_ops_stream(ops, RH_KERNEL_ADD, each * ops->element_bytes * scores_of(ops, w), 4);
}

static void score(RhOps *ops, const Widths *w)
{
    int64_t batch = ops->sequences * w->heads, s = ops->queries;
    for (int i = 0; i < 2; i++)
        rh_ops_gemm(ops, batch, s, w->rows, w->size);
    gather(ops, w);
}

static void score_backward(RhOps *ops, const Widths *w)
{
    int64_t batch = ops->sequences * w->heads, s = ops->queries;
    gather(ops, w);
    for (int i = 0; i < 2; i++) {
        rh_ops_gemm(ops, batch, s, w->size, w->rows);
        rh_ops_gemm(ops, batch, w->rows, w->size, s);
    }
}

static void project(RhOps *ops, const Widths *w, bool backward)
{
    int64_t h = ops->model->hidden;
    for (int i = 0; i < 2; i++)
        rh_ops_linear(ops, w->rows, backward ? h : w->q, backward ? w->q : h);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhShard shard;
    RhOps eager = eager_ops(ops, &shard), positions = *ops;
    rh_attention_both_ways.kernels(&eager, pass);
    if (w.rows == 0)
        return;
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL) {
        project(ops, &w, false);
        score(ops, &w);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        score_backward(ops, &w);
        project(ops, &w, true);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        positions.tokens = w.rows;
        for (int i = 0; i < 2; i++)
            rh_ops_linear_gradient(&positions, w.q, ops->model->hidden);
    } else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_CORE)) {
        score(ops, &w);
    }
}

/* Kept besides: keys and queries of positions. Backward: the gradients of both gathered scores. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhShard shard;
    RhOps eager = eager_ops(ops, &shard);
    RhOperatorBytes b = rh_attention_both_ways.bytes(&eager);
    if (w.rows == 0)
        return b;
    double e = ops->element_bytes, narrow = (double)(ops->tokens * w.heads) * (double)w.rows;
    b.kept += 2 * e * (double)(w.rows * w.q);
    b.forward += e * (narrow + scores_of(ops, &w));
    b.backward += e * (narrow + scores_of(ops, &w));
    return b;
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return rh_attention_both_ways.linears(ops, list);
}

const RhOperator rh_attention_disentangled = {.name = "disentangled attention",
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
