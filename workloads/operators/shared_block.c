/* A transformer block that several places of a model share (Zamba2, arXiv 2411.15242, section 2):
 * attention that reads the hidden state beside the embedding, 2h columns, and has an output of h; a
 * gated network; and after it a matrix of each place's own. Each place has low-rank matrices of its
 * own beside those into the network (section 2.2; none in Zamba's first, arXiv 2405.16712), and,
 * where its file says so, beside those of queries, keys and values. A place that is not its block's
 * first owns these alone (`borrows_block`). Every tensor-parallel rank has the matrices into low
 * ranks and after the network whole; all else is cut as in attention and a network. Residual sums
 * are counted after both; there is one. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* --- Attention --- */

/* One rank's heads, and columns: of the input, of queries and output, of all outputs of the first
 * matrix, of the low ranks together. */
typedef struct {
    int64_t heads, kv_heads, in, q, qkv, ranks;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads),
                .kv_heads = MAX(rh_ops_cut(ops, kind->kv_heads), 1),
                .in = 2 * ops->model->hidden,
                .ranks = kind->attention_adapter ? 3 * kind->adapter_rank : 0};
    w.q = w.heads * kind->head_size;
    w.qkv = w.q + 2 * w.kv_heads * kind->head_size;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->attention.num_attention_heads;
    kind->kv_heads = (int32_t)c->attention.num_key_value_heads;
    kind->head_size =
        (int32_t)MAX(2 * c->hidden_size / MAX(c->attention.num_attention_heads, 1), 1);
    kind->adapter_rank = (int32_t)c->sharing.adapter_rank;
    kind->attention_adapter = c->sharing.attention_adapter != 0;
}

/* Entries of the low-rank matrices: for each a matrix in and one out, which has columns of its
 * own. */
static double low_entries(const RhOps *ops, const Widths *w)
{
    return w->ranks > 0 ? (double)ops->kind->adapter_rank * (double)w->qkv : 0;
}

/* Parameters. The norm before the block is twice as wide as others. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden;
    RhParams p = {.sharded = low_entries(ops, &w), .replicated = (double)(w.in * w.ranks)};
    if (!ops->kind->borrows_block) {
        p.sharded += (double)w.in * (double)w.qkv + h * (double)w.q;
        p.replicated += h;
    }
    return p;
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    int64_t d = ops->kind->head_size;
    return (RhCore){.heads = w->heads, .kv_heads = w->kv_heads, .key = d, .value = d};
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double entries = (double)w.in * (double)(w.qkv + w.ranks) + low_entries(ops, &w) +
                     (double)ops->model->hidden * (double)w.q;
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries,
                     .pairs = rh_core_flops(ops, &core, false)};
}

/* Kernel that lays the embedding beside the hidden state, which are normed together; backward, its
 * gradient is added up. */
static void pair(RhOps *ops, bool backward)
{
    double elements = rh_ops_hidden_elements(ops), e = ops->element_bytes / 2;
    rh_ops_stream(ops, RH_KERNEL_ADD,
                  e * elements * (backward ? 2 * RH_READ + RH_WRITE : 2 * (RH_READ + RH_WRITE)), 1);
    rh_ops_norm(ops, elements, backward);
}

static void rotation(RhOps *ops, const Widths *w, bool backward)
{
    double columns = (double)(w->q + (w->qkv - w->q) / 2);
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_rotary(ops, (double)ops->tokens * columns, backward);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhCore core = core_of(ops, w);
    pair(ops, false);
    rh_ops_linear(ops, ops->tokens, w->qkv, w->in);
    if (w->ranks > 0) {
        rh_ops_linear(ops, ops->tokens, w->ranks, w->in);
        rh_ops_linear(ops, ops->tokens, w->qkv, ops->kind->adapter_rank);
    }
    rotation(ops, w, false);
    rh_core_kernels(ops, &core, pass);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->q);
}

static void backward(RhOps *ops, const Widths *w)
{
    RhCore core = core_of(ops, w);
    rh_ops_linear(ops, ops->tokens, w->q, ops->model->hidden);
    rh_core_kernels(ops, &core, RH_PASS_BACKWARD_DATA);
    rotation(ops, w, true);
    if (w->ranks > 0) {
        rh_ops_linear(ops, ops->tokens, ops->kind->adapter_rank, w->qkv);
        rh_ops_linear(ops, ops->tokens, w->in, w->ranks);
    }
    rh_ops_linear(ops, ops->tokens, w->in, w->qkv);
    pair(ops, true);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w->q);
    if (w->ranks > 0) {
        rh_ops_linear_gradient(ops, w->qkv, ops->kind->adapter_rank);
        rh_ops_linear_gradient(ops, w->ranks, w->in);
    }
    rh_ops_linear_gradient(ops, w->qkv, w->in);
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

/* Bytes kept: the embedding beside what the block's norm keeps, normed and before it; queries, keys
 * and values, the output; the columns of low ranks. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double e = ops->element_bytes, n = (double)ops->tokens,
           of_core = rh_core_kept_bytes(ops, &core);
    double normed = (2 * e + rh_ops_norm_copies(ops)) * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){
        .kept = normed + of_core + e * n * (double)(w.qkv + w.q + w.ranks),
        .dropped = rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0,
        .forward = e * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops),
        .backward = rh_core_backward_bytes(ops, &core) + 2 * e * rh_ops_hidden_elements(ops)};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_ops_cached(ops, (double)(w.qkv - w.q));
}

const RhOperator rh_shared_attention = {.name = "shared attention",
                                        .shape = shape,
                                        .params = params,
                                        .flops = flops,
                                        .kernels = kernels,
                                        .bytes = bytes,
                                        .cache = cache,
                                        .modules = RH_RECOMPUTE_CORE,
                                        .key_heads = true};

/* --- The network --- */

static void ffn_shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_ffn.shape(c, kind);
    kind->adapter_rank = (int32_t)c->sharing.adapter_rank;
}

static int64_t up_columns(const RhOps *ops)
{
    return (ops->kind->ffn_gated ? 2 : 1) * rh_ops_cut(ops, ops->kind->ffn_width);
}

static double own_entries(const RhOps *ops, bool whole)
{
    double h = (double)ops->model->hidden, rank = (double)ops->kind->adapter_rank;
    return whole ? h * rank + h * h : rank * (double)up_columns(ops);
}

static RhParams ffn_params(const RhOps *ops)
{
    RhParams p = {.sharded = own_entries(ops, false), .replicated = own_entries(ops, true)};
    RhParams block = ops->kind->borrows_block ? (RhParams){0} : rh_ffn.params(ops);
    p.sharded += block.sharded;
    p.replicated += block.replicated;
    return p;
}

static RhFlops ffn_flops(const RhOps *ops)
{
    RhFlops f = rh_ffn.flops(ops);
    f.weights += 2 * (double)ops->tokens * (own_entries(ops, true) + own_entries(ops, false));
    return f;
}

static void low_ranks(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, rank = ops->kind->adapter_rank, up = up_columns(ops);
    if (rank == 0)
        return;
    if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_linear(ops, ops->tokens, rank, up);
        rh_ops_linear(ops, ops->tokens, h, rank);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_linear_gradient(ops, up, rank);
        rh_ops_linear_gradient(ops, rank, h);
    } else {
        rh_ops_linear(ops, ops->tokens, rank, h);
        rh_ops_linear(ops, ops->tokens, up, rank);
    }
}

static void ffn_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden;
    bool runs = rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL;
    if (pass == RH_PASS_BACKWARD_DATA)
        rh_ops_linear(ops, ops->tokens, h, h);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_linear_gradient(ops, h, h);
    rh_ffn.kernels(ops, pass);
    if (runs || pass == RH_PASS_BACKWARD_DATA || pass == RH_PASS_BACKWARD_WEIGHT)
        low_ranks(ops, pass);
    if (runs)
        rh_ops_linear(ops, ops->tokens, h, h);
}

/* Bytes kept besides a network's: the columns of low ranks, and the input of the last matrix. */
static RhOperatorBytes ffn_bytes(const RhOps *ops)
{
    RhOperatorBytes b = rh_ffn.bytes(ops);
    b.kept += ops->element_bytes *
              ((double)ops->tokens * ops->kind->adapter_rank + rh_ops_hidden_elements(ops));
    return b;
}

const RhOperator rh_shared_ffn = {.name = "shared ffn",
                                  .shape = ffn_shape,
                                  .params = ffn_params,
                                  .flops = ffn_flops,
                                  .kernels = ffn_kernels,
                                  .bytes = ffn_bytes,
                                  .modules = RH_RECOMPUTE_NONE};
