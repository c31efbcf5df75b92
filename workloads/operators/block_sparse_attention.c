/* Attention over blocks of keys that an indexer leaves each query (MiniMax-M3, after transformers'
 * modeling_minimax_m3_vl.py): a few narrow heads, one for each key-value head, score all tokens by one narrow key;
 * the best token of a block speaks for it, and each query sees the best blocks. The rest is attention with grouped
 * queries (attention.c).
 *
 * The indexer's queries and key come from one matrix and are normed and rotated; tensor ranks cut its heads as they
 * cut key-value heads, and all hold its key. Up to as many tokens as the blocks have, all are seen and nothing is
 * scored. Backward, the tokens that spoke for chosen blocks have gradients (assumed, as DeepSeek Sparse Attention's
 * chosen keys have). Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* One rank's heads, and columns of the indexer's matrix. */
typedef struct {
    int64_t heads, columns;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    Widths w = {.heads = MAX(rh_ops_cut(ops, ops->kind->index_n_heads), 1)};
    w.columns = (w.heads + 1) * ops->kind->index_head_dim;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    kind->index_n_heads = (int32_t)c->mla.index_n_heads;
    kind->index_head_dim = (int32_t)c->mla.index_head_dim;
    kind->index_topk = (int32_t)c->attention.num_local_blocks;
    kind->window_tokens = (int32_t)(c->attention.num_local_blocks * c->attention.block_size);
}

static bool is_sparse(const RhOps *ops)
{
    return ops->keys > ops->kind->window_tokens;
}

/* Parameters. The indexer's key and the scales of two norms are on every rank. */
static RhParams params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, size = ops->kind->index_head_dim;
    RhParams p = rh_attention.params(ops);
    p.sharded += h * (double)widths_of(ops).heads * size;
    p.replicated += h * size + 2 * size;
    return p;
}

/* Query-key pairs that the indexer scores: its heads' queries by the key of every earlier token. */
static double score_pairs(const RhOps *ops)
{
    double s = (double)ops->keys;
    return (double)ops->sequences * (ops->decoding ? s : 0.5 * s * s / MAX(ops->shard->cp, 1));
}

static double score_flops(const RhOps *ops)
{
    double pair = 2 * (double)(widths_of(ops).heads * ops->kind->index_head_dim);
    return is_sparse(ops) ? pair * score_pairs(ops) : 0;
}

/* FLOPs of scoring a query's chosen blocks, one token of each. */
static double chosen_flops(const RhOps *ops)
{
    double pair = 2 * (double)(widths_of(ops).heads * ops->kind->index_head_dim);
    return is_sparse(ops) ? pair * (double)ops->tokens * ops->kind->index_topk : 0;
}

static RhFlops flops(const RhOps *ops)
{
    RhFlops f = rh_attention.flops(ops);
    f.weights +=
        2 * (double)ops->tokens * (double)ops->model->hidden * (double)widths_of(ops).columns;
    f.pairs += score_flops(ops);
    return f;
}

/* --- Kernels --- */

static void norm_and_rotate(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)w->columns;
    rh_ops_norm(ops, elements, backward);
    rh_ops_rotary(ops, elements, backward);
}

/* Kernels of the scores, which are written in fp32 and read to choose the best. */
static void scores(RhOps *ops, const Widths *w, bool backward)
{
    int64_t size = ops->kind->index_head_dim;
    if (!is_sparse(ops))
        return;
    RhKernel kernel = {
        .cls = RH_KERNEL_ATTENTION,
        .dtype = (uint8_t)ops->shard->dtype,
        .causal = !ops->decoding,
        .heads = (int32_t)w->heads,
        .kv_heads = 1,
        .batch = ops->sequences,
        .m = ops->queries,
        .n = ops->keys,
        .k = size,
        .flops = backward ? 2 * chosen_flops(ops) : score_flops(ops),
        .bytes = ops->element_bytes * (double)size *
                 ((double)(ops->tokens * w->heads) + (double)(ops->sequences * ops->keys))};
    g_array_append_val(ops->out, kernel);
    if (!backward)
        rh_ops_stream(ops, RH_KERNEL_REDUCE, 2 * RH_FP32 * (double)w->heads * score_pairs(ops), 1);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL) {
        rh_ops_linear(ops, ops->tokens, w.columns, h);
        norm_and_rotate(ops, &w, false);
        guint first = ops->out->len;
        scores(ops, &w, false);
        rh_ops_mark_core(ops, first);
    }
    rh_attention.kernels(ops, pass);
    if (pass == RH_PASS_BACKWARD_DATA) {
        scores(ops, &w, true);
        norm_and_rotate(ops, &w, true);
        rh_ops_linear(ops, ops->tokens, h, w.columns);
    }
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_linear_gradient(ops, w.columns, h);
}

/* Bytes; kept besides attention's are the indexer's queries and key before and after their norm,
 * and which blocks were chosen. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhOperatorBytes b = rh_attention.bytes(ops);
    double chosen = is_sparse(ops) ? RH_FP32 * (double)w.heads * ops->kind->index_topk : 0;
    double row = (2 * ops->element_bytes + rh_ops_norm_copies(ops)) * (double)w.columns + chosen;
    b.kept += (double)ops->tokens * row;
    return b;
}

/* Cache of all tokens, as any may be chosen, and of the indexer's keys. */
static RhCacheBytes cache(const RhOps *ops)
{
    RhLayerKind kind = *ops->kind;
    RhOps all = *ops;
    kind.window_tokens = 0;
    all.kind = &kind;
    RhCacheBytes keys = rh_attention.cache(&all), index = rh_ops_cached(&all, kind.index_head_dim);
    return (RhCacheBytes){.token = keys.token + index.token};
}

const RhOperator rh_attention_by_blocks = {.name = "attention by blocks",
                                           .shape = shape,
                                           .params = params,
                                           .flops = flops,
                                           .kernels = kernels,
                                           .bytes = bytes,
                                           .cache = cache,
                                           .modules = RH_RECOMPUTE_CORE,
                                           .key_heads = true};
