/* Attention over compressed keys (DeepSeek-V4, 2026, section 2.3, as Hugging Face transformers'
 * modeling_deepseek_v4.py builds it): one key-value head, whose keys are its values, too. A query sees
 * the tokens of a window, and of all before it entries that stand for r tokens each: every one of them
 * where r is large, those an indexer leaves it where r is small (windows of 2 r tokens then overlap).
 * Queries go through a latent; the output goes, group of heads by group, through a latent, too.
 *
 * Heads are cut over tensor-parallel ranks; the key-value head, compressors and the indexer are whole on
 * every rank. Assumed: the core is always one fused kernel. */
#include <math.h>

#include "workloads/operators/operator.h"

#define STATISTICS_BYTES 4.0

/* Traffic of the softmax that weighs the tokens of an entry: read keys and weights, write a token's
 * share. */
#define POOL (2 * RH_READ + RH_WRITE)
static const RhStream POOLING = {POOL, 2 * POOL, 2 * POOL, 4 * POOL, 2, 0, 0};

/* One rank's heads and groups of them, columns of its queries and of a latent of the output. */
typedef struct {
    int64_t heads, groups, q, out;
    int64_t entry,
        index_entry; /* columns that an entry is made of: of keys, and of the indexer's keys */
} Widths;

static bool is_indexed(const RhLayerKind *kind)
{
    return kind->compress_ratio > 0 && kind->index_topk > 0;
}

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    int64_t overlap = is_indexed(kind) ? 2 : 1;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads), .groups = rh_ops_cut(ops, kind->o_groups)};
    w.q = w.heads * kind->head_size;
    w.out = w.groups * kind->o_lora_rank;
    w.entry = kind->compress_ratio > 0 ? overlap * kind->head_size : 0;
    w.index_entry = is_indexed(kind) ? overlap * kind->index_head_dim : 0;
    return w;
}

static void resolve(RhConfig *c)
{
    c->attention.num_key_value_heads = 1;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->attention.num_attention_heads;
    kind->kv_heads = 1;
    kind->head_size = (int32_t)c->attention.head_dim;
    kind->q_lora_rank = (int32_t)c->mla.q_lora_rank;
    kind->qk_rope_head_dim = (int32_t)c->mla.qk_rope_head_dim;
    kind->o_lora_rank = (int32_t)c->mla.o_lora_rank;
    kind->o_groups = (int32_t)c->mla.o_groups;
    kind->compress_ratio = (int32_t)c->mla.compress_ratio;
    if (c->mla.compress_ratio == 0 || c->mla.compress_ratio != c->mla.compress_rate_sparse)
        return;
    kind->index_n_heads = (int32_t)c->mla.index_n_heads;
    kind->index_head_dim = (int32_t)c->mla.index_head_dim;
    kind->index_topk = (int32_t)c->mla.index_topk;
}

/* A matrix, in the order of a forward pass: `batch` of them side by side, `whole` on every rank. */
typedef struct {
    int64_t batch, in, out;
    bool whole;
} Matrix;

#define MATRICES_MAX 11

static int matrices_of(const RhOps *ops, const Widths *w, Matrix m[MATRICES_MAX])
{
    const RhLayerKind *kind = ops->kind;
    int64_t h = ops->model->hidden, group = w->q / MAX(w->groups, 1);
    const Matrix all[MATRICES_MAX] = {
        {1, h, kind->q_lora_rank, true},
        {1, kind->q_lora_rank, w->q, false},
        {1, h, kind->head_size, true},
        {1, h, w->entry, true}, /* an entry's keys, and their weights */
        {1, h, w->entry, true},
        {1, h, w->index_entry, true},
        {1, h, w->index_entry, true},
        {1, kind->q_lora_rank, (int64_t)kind->index_n_heads * kind->index_head_dim, true},
        {1, h, kind->index_n_heads, true},
        {w->groups, group, kind->o_lora_rank, false},
        {1, w->out, h, false},
    };
    int n = 0;
    for (int i = 0; i < MATRICES_MAX; i++)
        if (all[i].out > 0)
            m[n++] = all[i];
    return n;
}

/* Parameters besides matrices: norms of the latent and of keys, and a sink per head; for entries a
 * bias for each column of their tokens, and a norm. */
static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    Matrix m[MATRICES_MAX];
    int count = matrices_of(ops, &w, m);
    RhParams p = {.sharded = (double)w.heads, .replicated = kind->q_lora_rank + kind->head_size};
    p.replicated += (double)kind->compress_ratio * (double)(w.entry + w.index_entry);
    p.replicated +=
        (w.entry > 0 ? kind->head_size : 0) + (w.index_entry > 0 ? kind->index_head_dim : 0);
    for (int i = 0; i < count; i++)
        *(m[i].whole ? &p.replicated : &p.sharded) +=
            (double)m[i].batch * (double)m[i].in * (double)m[i].out;
    return p;
}

/* --- Pairs of a query and what it sees, of one sequence and head --- */

/* Pairs of queries with `entries` that stand for r tokens each; each query sees at most `most` of
 * them, 0: all. */
static double entry_pairs(const RhOps *ops, double r, double most)
{
    double entries = (double)ops->keys / r, w = most > 0 ? fmin(most, entries) : entries;
    if (ops->decoding)
        return w;
    return r * (entries * w - 0.5 * w * w) / MAX(ops->shard->cp, 1);
}

static double seen_pairs(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    double window = rh_ops_visible_pairs(ops);
    return kind->compress_ratio > 0
               ? window + entry_pairs(ops, kind->compress_ratio, kind->index_topk)
               : window;
}

/* FLOPs of the indexer, which scores every entry where there are more than it may choose. */
static double index_flops(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    if (!is_indexed(kind) || ops->keys / kind->compress_ratio <= kind->index_topk)
        return 0;
    return 2 * (double)ops->sequences * (double)kind->index_n_heads * kind->index_head_dim *
           entry_pairs(ops, kind->compress_ratio, 0);
}

static double core_flops(const RhOps *ops, const Widths *w, bool backward)
{
    return (double)ops->sequences * (double)w->heads * seen_pairs(ops) *
           rh_attention_pair_flops(ops->kind->head_size, ops->kind->head_size, backward);
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    Matrix m[MATRICES_MAX];
    int count = matrices_of(ops, &w, m);
    RhFlops f = {.pairs = core_flops(ops, &w, false) + index_flops(ops)};
    for (int i = 0; i < count; i++)
        f.weights +=
            2 * (double)ops->tokens * (double)m[i].batch * (double)m[i].in * (double)m[i].out;
    return f;
}

/* --- Kernels --- */

/* Kernel of the core: queries and outputs of this rank's heads; the window's keys and the entries
 * are read once. */
static void core_kernel(RhOps *ops, const Widths *w, bool backward)
{
    const RhLayerKind *kind = ops->kind;
    double heads = (double)w->heads, n = (double)ops->tokens, d = kind->head_size;
    double entries = kind->compress_ratio > 0 ? (double)ops->keys / kind->compress_ratio : 0;
    double rows =
        ops->decoding ? rh_ops_visible_pairs(ops) + entries : (double)ops->queries + entries;
    RhKernel kernel = {.cls = backward ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .causal = !ops->decoding,
                       .heads = (int32_t)w->heads,
                       .kv_heads = 1,
                       .batch = ops->sequences,
                       .m = ops->queries,
                       .n = (int64_t)fmax(1, seen_pairs(ops) / (double)MAX(ops->queries, 1)),
                       .k = kind->head_size,
                       .flops = core_flops(ops, w, backward),
                       .bytes = ops->element_bytes * (backward ? 2 : 1) *
                                    (2 * n * heads * d + (double)ops->sequences * rows * d) +
                                STATISTICS_BYTES * n * heads};
    g_array_append_val(ops->out, kernel);
}

/* Kernels of the indexer: scores of all entries, which are written in fp32 and read to choose.
 * Backward only chosen entries have gradients. */
static void indexer(RhOps *ops, bool backward)
{
    const RhLayerKind *kind = ops->kind;
    double all = index_flops(ops);
    if (all <= 0)
        return;
    double kept = entry_pairs(ops, kind->compress_ratio, kind->index_topk);
    double part = kept / entry_pairs(ops, kind->compress_ratio, 0);
    RhKernel kernel = {.cls = RH_KERNEL_ATTENTION,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .causal = !ops->decoding,
                       .heads = kind->index_n_heads,
                       .kv_heads = 1,
                       .batch = ops->sequences,
                       .m = ops->queries,
                       .n = ops->keys / kind->compress_ratio,
                       .k = kind->index_head_dim,
                       .flops = backward ? 2 * part * all : all,
                       .bytes = ops->element_bytes * (double)ops->tokens *
                                ((double)kind->index_n_heads + 1) * kind->index_head_dim};
    g_array_append_val(ops->out, kernel);
    if (!backward)
        rh_ops_stream(
            ops, RH_KERNEL_REDUCE,
            2 * RH_FP32 * (double)ops->sequences * entry_pairs(ops, kind->compress_ratio, 0), 1);
}

/* Kernels between the matrices: norms of latents, queries and keys; rotation of queries, keys and,
 * inverted, of outputs; making entries. */
static void norms_and_rotation(RhOps *ops, const Widths *w, bool backward)
{
    const RhLayerKind *kind = ops->kind;
    double n = (double)ops->tokens;
    rh_ops_norm(ops, n * (double)(kind->q_lora_rank + w->q + kind->head_size), backward);
    rh_ops_rotary(ops, n * (double)((2 * w->heads + 1) * kind->qk_rope_head_dim), backward);
    if (w->entry > 0)
        rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &POOLING,
                           n * (double)(w->entry + w->index_entry), backward);
}

static void gemm(RhOps *ops, const Matrix *m, bool backward)
{
    rh_ops_gemm(ops, m->batch, ops->tokens, backward ? m->in : m->out, backward ? m->out : m->in);
}

static void forward(RhOps *ops, const Widths *w, const Matrix *m, int count)
{
    for (int i = 0; i < count - 2; i++)
        gemm(ops, &m[i], false);
    norms_and_rotation(ops, w, false);
    guint first = ops->out->len;
    indexer(ops, false);
    core_kernel(ops, w, false);
    rh_ops_mark_core(ops, first);
    gemm(ops, &m[count - 2], false);
    gemm(ops, &m[count - 1], false);
}

static void backward(RhOps *ops, const Widths *w, const Matrix *m, int count)
{
    gemm(ops, &m[count - 1], true);
    gemm(ops, &m[count - 2], true);
    core_kernel(ops, w, true);
    indexer(ops, true);
    norms_and_rotation(ops, w, true);
    for (int i = count - 3; i >= 0; i--)
        gemm(ops, &m[i], true);
}

/* Recomputes queries from their latent; the single key does not come from a latent. */
static void replay_up(RhOps *ops, const Widths *w)
{
    double n = (double)ops->tokens;
    rh_ops_gemm(ops, 1, ops->tokens, w->q, ops->kind->q_lora_rank);
    rh_ops_norm(ops, n * (double)w->q, false);
    rh_ops_rotary(ops, n * (double)(w->heads * ops->kind->qk_rope_head_dim), false);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    Matrix m[MATRICES_MAX];
    int count = matrices_of(ops, &w, m);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL) {
        forward(ops, &w, m, count);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        backward(ops, &w, m, count);
    } else if (pass == RH_PASS_RECOMPUTE_SELECTIVE) {
        if (rh_ops_replays(ops, RH_RECOMPUTE_UP))
            replay_up(ops, &w);
        if (rh_ops_replays(ops, RH_RECOMPUTE_CORE))
            core_kernel(ops, &w, false);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        for (int i = count - 1; i >= 0; i--)
            for (int64_t b = 0; b < m[i].batch; b++)
                rh_ops_weight_gradient(ops, m[i].out, m[i].in);
    }
}

/* Bytes kept: latents, queries and keys before and after their norm, what entries are made of, the
 * output and its latent, the log-sum-exp; indices of chosen entries. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double normed = (double)(kind->q_lora_rank + w.q + kind->head_size);
    double columns = 2 * normed + 2 * (double)(w.entry + w.index_entry) + (double)(w.q + w.out) +
                     (double)kind->index_n_heads * (kind->index_head_dim + 1);
    double chosen = RH_FP32 * (is_indexed(kind) ? kind->index_topk : 0);
    double core_bytes = n * (STATISTICS_BYTES * (double)w.heads);
    double copies = rh_ops_norm_copies(ops);
    double up_bytes = n * (2 * e + copies) * (double)w.q; /* before their norm and after */
    return (RhOperatorBytes){.kept = n * (e * columns + copies * normed + chosen) + core_bytes,
                             .dropped = (rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? core_bytes : 0) +
                                        (rh_ops_replays(ops, RH_RECOMPUTE_UP) ? up_bytes : 0),
                             .forward = e * wide + rh_ops_gathered_bytes(ops),
                             .backward =
                                 e * (2 * n * (double)w.q + wide) + rh_ops_gathered_bytes(ops)};
}

/* Cache: keys, which are also values, of a window; entries that stand for r tokens each, and the
 * indexer's keys of these. */
static RhCacheBytes cache(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    RhCacheBytes kept = rh_ops_cached(ops, kind->head_size);
    if (kind->compress_ratio > 0)
        kept.token +=
            ops->element_bytes * (kind->head_size + kind->index_head_dim) / kind->compress_ratio;
    return kept;
}

const RhOperator rh_compressed_attention = {.name = "compressed attention",
                                            .resolve = resolve,
                                            .shape = shape,
                                            .params = params,
                                            .flops = flops,
                                            .kernels = kernels,
                                            .bytes = bytes,
                                            .cache = cache,
                                            .modules = RH_RECOMPUTE_CORE | RH_RECOMPUTE_UP};
