/* Attention with grouped queries: one GEMM for q, k and v, rotary, the core, one GEMM out
 * (Megatron-LM, arXiv 1909.08053, section 3). The output may be scaled by a sigmoid of as many
 * columns, which come from the first GEMM (Qwen3-Next), and keys may be values, too (Gemma 4).
 * Queries may come from a normed latent of R columns (Step3's multi-matrix factorisation, arXiv
 * 2507.19427, section 4), which every rank computes whole, like a single key-value head. Longformer
 * (arXiv 2004.05150, section 3.1) has a second set of matrices for tokens that see all others:
 * every token has keys and values for them; the queries of these few tokens, and their core, are
 * left out. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* One rank's heads, and columns of its matrices: heads x head size, of queries and of keys. Keys
 * and values may be borrowed from an earlier layer (Gemma 3n, 4): then there is no matrix for them,
 * and only their gradient is added. */
typedef struct {
    int64_t heads, kv_heads, q, kv, qkv;
    int64_t out;      /* columns of the output: heads x a value's size */
    int64_t own;      /* columns of keys that the layer makes itself; 0: borrowed */
    int64_t own_pair; /* columns of keys and values that it makes itself */
    int64_t gate;     /* columns that scale the output: as many as `out`, or one per head */
    int64_t scaled;   /* columns of the output that are scaled; 0: none */
    int64_t rank;     /* columns of the latent that queries come from; 0: none */
    int64_t global;   /* columns of global keys and values, for the few tokens that see all others;
                       * 0: none */
} Widths;

static int64_t value_size(const RhLayerKind *kind)
{
    return kind->v_head_dim > 0 ? kind->v_head_dim : kind->head_size;
}

/* Widths of one rank, which has at least one key-value head: fewer than t are replicated. */
static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads),
                .kv_heads = MAX(rh_ops_cut(ops, kind->kv_heads), 1)};
    int64_t value = value_size(kind);
    w.q = w.heads * kind->head_size;
    w.kv = w.kv_heads * kind->head_size;
    w.out = w.heads * value;
    w.own = kind->borrows_keys ? 0 : w.kv;
    w.own_pair = kind->borrows_keys ? 0 : w.kv + (kind->k_eq_v ? 0 : w.kv_heads * value);
    w.scaled = kind->output_gate ? w.out : 0;
    w.gate = kind->gate_per_head ? w.heads : w.scaled;
    w.rank = kind->q_lora_rank;
    w.global = kind->global_keys ? w.own_pair : 0;
    w.qkv = (w.rank > 0 ? w.rank : w.q) + w.gate + w.own_pair + w.global;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->attention.num_attention_heads;
    kind->kv_heads = (int32_t)c->attention.num_key_value_heads;
    kind->head_size = (int32_t)c->attention.head_dim;
    kind->qk_norm = c->attention.qk_norm != 0;
    kind->unscaled_qk_norm = c->attention.unscaled_qk_norm != 0;
    kind->joint_qk_norm = kind->qk_norm && c->attention.joint_qk_norm != 0;
    kind->output_gate = c->attention.output_gate != 0;
    kind->gate_per_head = c->attention.output_gate != 0 && c->attention.gate_per_head != 0;
    kind->v_head_dim = c->mla.v_head_dim != c->attention.head_dim ? (int32_t)c->mla.v_head_dim : 0;
    kind->k_eq_v = c->attention.k_eq_v != 0;
    kind->bidirectional = c->attention.bidirectional != 0;
    kind->keys_in_blocks = c->window.in_blocks != 0 && kind->window_tokens > 0;
    kind->global_keys = c->attention.global_keys != 0;
    kind->qkv_bias = c->attention.qkv_bias != 0;
    kind->o_bias = c->attention.o_bias != 0;
}

static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, queries = w.global > 0 ? (double)w.q : 0;
    return (RhParams){.sharded = h * ((double)(w.qkv - w.rank + w.out) + queries) +
                                 (double)(w.rank * w.q) +
                                 (kind->qkv_bias ? (double)w.qkv + queries : 0),
                      .replicated = (h + 1) * (double)w.rank + (kind->o_bias ? h : 0) +
                                    (kind->qk_norm && !kind->unscaled_qk_norm
                                         ? (kind->borrows_keys ? 1.0 : 2.0) * kind->head_size
                                         : 0)};
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    return (RhCore){.heads = w->heads,
                    .kv_heads = w->kv_heads,
                    .key = ops->kind->head_size,
                    .value = value_size(ops->kind)};
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double entries = (double)ops->model->hidden * (double)(w.qkv + w.out) + (double)(w.rank * w.q);
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries,
                     .pairs = rh_core_flops(ops, &core, false)};
}

/* --- Kernels --- */

/* Norm and rotation of queries and keys. */
static void queries_and_keys(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)(w->q + w->own);
    if (backward && ops->kind->borrows_keys)
        rh_ops_stream(
            ops, RH_KERNEL_ADD,
            (2 * RH_READ + RH_WRITE) * ops->element_bytes * (double)ops->tokens * (double)w->kv, 1);
    if (ops->kind->qk_norm)
        rh_ops_norm(ops, elements, backward);
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_rotary(ops, elements, backward);
}

/* Makes queries from their latent; backward, the latent's gradient. */
static void from_latent(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)w->rank;
    if (w->rank == 0)
        return;
    if (!backward)
        rh_ops_norm(ops, elements, false);
    rh_ops_linear(ops, ops->tokens, backward ? w->rank : w->q, backward ? w->q : w->rank);
    if (backward)
        rh_ops_norm(ops, elements, true);
}

static void scale(RhOps *ops, const Widths *w, bool backward)
{
    if (w->scaled > 0)
        rh_ops_gate(ops, (double)ops->tokens * (double)w->scaled, backward);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    rh_ops_linear_gradient(ops, h, w->out);
    if (w->rank > 0)
        rh_ops_linear_gradient(ops, w->q, w->rank);
    rh_ops_linear_gradient(ops, w->qkv, h);
    if (ops->kind->o_bias)
        rh_ops_bias_gradient(ops, h);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, w->qkv);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    int64_t h = ops->model->hidden;
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
    case RH_PASS_PREFILL:
    case RH_PASS_DECODE:
        rh_ops_linear_gathered(ops, w.qkv, h);
        from_latent(ops, &w, false);
        queries_and_keys(ops, &w, false);
        rh_core_kernels(ops, &core, pass);
        scale(ops, &w, false);
        rh_ops_linear_summed(ops, h, w.out);
        break;
    case RH_PASS_BACKWARD_DATA:
        rh_ops_linear_gathered(ops, w.out, h);
        scale(ops, &w, true);
        rh_core_kernels(ops, &core, pass);
        queries_and_keys(ops, &w, true);
        from_latent(ops, &w, true);
        rh_ops_linear(ops, ops->tokens, h, w.qkv);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        weight_gradients(ops, &w);
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
        if (rh_ops_replays(ops, RH_RECOMPUTE_CORE))
            rh_core_kernels(ops, &core, pass);
        if (rh_ops_replays(ops, RH_RECOMPUTE_CORE) && ops->shard->drops_projection)
            rh_ops_linear(ops, ops->tokens, h, w.out);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* Elements per token that are kept unrotated, where rotation is a kernel of its own. Queries, keys
 * and values are views of one product, and the fused core keeps the values, so the whole product
 * stays beside the rotated queries and keys. Where these have a norm, it is kept anyway. */
static double unrotated(const RhOps *ops, const Widths *w)
{
    bool anew = ops->model->position == RH_POSITION_ROTARY && !ops->shard->fused_elementwise;
    return anew && ops->shard->flash && !ops->kind->qk_norm ? (double)(w->q + w->own) : 0;
}

/* Bytes kept where the core is recomputed: the rest of the core's; its output, which the projection
 * reads, also in the operands' format; and what the layer leaves for the norm of the next block. */
static double replayed_bytes(const RhOps *ops, const Widths *w, double of_core)
{
    const RhShard *shard = ops->shard;
    bool context = shard->drops_context || shard->drops_projection;
    double e = ops->element_bytes, copied = e + rh_ops_kept_copy_bytes(ops);
    double output = shard->drops_projection ? e * rh_ops_sequence_elements(ops) : 0;
    if (!rh_ops_replays(ops, RH_RECOMPUTE_CORE))
        return 0;
    return of_core + output + (context ? copied * (double)(ops->tokens * w->out) : 0);
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double e = ops->element_bytes, of_core = rh_core_kept_bytes(ops, &core);
    /* queries and keys before their norm, and the norm's copies */
    double normed = ops->kind->qk_norm ? (double)(w.q + w.own) : 0;
    /* q, k, v and the output; a gate is part of the first product, and the scaled output one more
     * tensor. Keys that are also values differ from them after their norm. */
    double row = e * (double)(w.qkv + w.out + w.scaled + (ops->kind->k_eq_v ? w.own : 0)) +
                 e * unrotated(ops, &w) + (e + rh_ops_norm_copies(ops)) * normed;
    if (w.rank > 0) /* queries beside their latent, and the output of the latent's norm */
        row += e * (double)(w.q + w.rank) + rh_ops_norm_copies(ops) * (double)w.rank;
    double out = rh_ops_kept_copy_bytes(ops) * (double)w.out; /* as the second GEMM's input */
    return (RhOperatorBytes){
        .kept = (double)ops->tokens * (row + out) + of_core,
        .dropped = replayed_bytes(ops, &w, of_core),
        .forward = e * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops) +
                   rh_core_context_bytes(ops, &core, false),
        .backward = rh_core_backward_bytes(ops, &core) + rh_core_context_bytes(ops, &core, true)};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_ops_cached(ops, (double)w.own_pair);
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    double narrow = (double)ops->tokens * rh_ops_kept_copy_bytes(ops) * (double)w.out;
    list[0] = (RhLinear){.name = RH_LINEAR_QKV,
                         .in = h,
                         .out = w.qkv,
                         .by_columns = true,
                         .kept = rh_ops_normed_input_bytes(ops)};
    list[1] = (RhLinear){.name = RH_LINEAR_PROJ, .in = w.out, .out = h, .kept = narrow};
    return 2;
}

/* Members that all kinds of attention below share. */
#define ATTENTION(name_, shape_)                                                                   \
    .name = (name_), .shape = (shape_), .params = params, .flops = flops, .kernels = kernels,      \
    .bytes = bytes, .cache = cache, .modules = RH_RECOMPUTE_CORE, .key_heads = true

const RhOperator rh_attention = {ATTENTION("attention", shape), .linears = linears,
                                 .in_steps = true, .rings = true, .gathers_operands = true};

/* Attention with a bias on each score that grows with the distance (ALiBi, arXiv 2108.12409), made
 * in registers: nothing more is read. */
const RhOperator rh_attention_alibi = {ATTENTION("attention with ALiBi", shape), .linears = linears,
                                       .in_steps = true, .rings = true, .gathers_operands = true};

/* Attention whose output is scaled by a gate. */
const RhOperator rh_attention_gated = {ATTENTION("gated attention", shape), .linears = linears,
                                       .in_steps = true};

/* Attention without a mask. */
const RhOperator rh_attention_bidirectional = {ATTENTION("attention both ways", shape),
                                               .linears = linears, .in_steps = true,
                                               .gathers_operands = true};

static void factored_shape(const RhConfig *c, RhLayerKind *kind)
{
    shape(c, kind);
    kind->q_lora_rank = (int32_t)c->mla.q_lora_rank;
}

/* Attention with queries from a latent. */
const RhOperator rh_attention_factored = {ATTENTION("factored attention", factored_shape)};
