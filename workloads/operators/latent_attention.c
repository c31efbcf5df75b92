/* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): keys and values are
 * made from one latent vector per token, and a part of each key that is rotated and shared by all
 * heads. Queries may go through a latent of their own. Formulas: docs/theory/workload.md.
 *
 * A sparse attention (DeepSeek-V3.2, arXiv 2512.02556, section 2.1) has an indexer besides, which
 * scores all tokens by a few narrow heads and leaves each query the best of them. Beyond that many
 * tokens its core works on latents, as decoding does, whose rows all heads share; every rank holds
 * it whole. A layer may do without an indexer and see the keys that an earlier layer chose
 * (GLM-5.2). The output may be scaled by a sigmoid of as many columns (Kimi K3), which may be made
 * of the queries' latent (A.X K2).
 *
 * Training and prompts make whole keys and values; decoding reads the latents alone, with the
 * matrices that would make keys and values multiplied into queries and outputs (section 2.1.2).
 * Matrices into latents and their norms are held and computed by every tensor-parallel rank, as in
 * Megatron-LM; those out of latents are cut by heads. */
#include "workloads/operators/operator.h"

/* Traffic per element of whole keys and values: read what they are made of, write them; backward
 * adds the gradients up likewise. Eager: keys, then values. */
#define COPY (RH_READ + RH_WRITE)
static const RhStream ASSEMBLY = {COPY, COPY, COPY, COPY, 2, 0, 0};
/* One rank's heads, and columns: of queries (as many as of whole keys), of values, of the parts
 * that are rotated, of what comes out of the latent, of what goes into it. */
typedef struct {
    int64_t heads, q, v, up, down;
    int64_t gate; /* numbers that scale the output; 0: none */
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads),
                .down = kind->kv_lora_rank + kind->qk_rope_head_dim};
    w.q = w.heads * kind->head_size;
    w.v = w.heads * kind->v_head_dim;
    w.up = w.q + w.v - w.heads * kind->qk_rope_head_dim;
    w.gate = !kind->output_gate ? 0 : kind->gate_per_head ? w.heads : w.v;
    return w;
}

static void resolve(RhConfig *c)
{
    c->attention.head_dim = c->mla.qk_nope_head_dim + c->mla.qk_rope_head_dim;
    c->attention.num_key_value_heads = c->attention.num_attention_heads;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->attention.num_attention_heads;
    kind->kv_heads = (int32_t)c->attention.num_key_value_heads;
    kind->head_size = (int32_t)c->attention.head_dim;
    kind->q_lora_rank = (int32_t)c->mla.q_lora_rank;
    kind->kv_lora_rank = (int32_t)c->mla.kv_lora_rank;
    kind->qk_rope_head_dim = (int32_t)c->mla.qk_rope_head_dim;
    kind->v_head_dim = (int32_t)c->mla.v_head_dim;
    kind->qkv_bias = c->attention.qkv_bias != 0;
    kind->o_bias = c->attention.o_bias != 0;
    kind->index_n_heads = (int32_t)c->mla.index_n_heads;
    kind->index_head_dim = (int32_t)c->mla.index_head_dim;
    kind->window_tokens = (int32_t)c->mla.index_topk;
    kind->output_gate = c->attention.output_gate != 0;
    kind->gate_per_head = kind->output_gate && c->attention.gate_per_head != 0;
    kind->gate_from_q_latent =
        kind->output_gate && c->attention.gate_from_q_latent != 0 && c->mla.q_lora_rank > 0;
    kind->index_shared = c->mla.index_shared != 0;
}

/* Does a query see fewer keys than there are? */
static bool is_sparse(const RhOps *ops)
{
    return ops->kind->index_n_heads > 0 && ops->keys > ops->kind->window_tokens;
}

/* Does the layer have an indexer of its own? */
static bool chooses(const RhOps *ops)
{
    return ops->kind->index_n_heads > 0 && !ops->kind->index_shared;
}

/* A weight matrix, in the order of a forward pass: rows of the input, columns of the output. */
typedef struct {
    int64_t in, out;
    bool whole; /* on every rank */
} Matrix;

#define MATRICES_MAX 9

/* Lists the matrices: the indexer's queries, its one key, a weight per head; into the queries'
 * latent and out of it, or straight to queries; the output's gate; into the keys' latent and out of
 * it; the output. */
static int matrices_of(const RhOps *ops, const Widths *w, Matrix matrices[MATRICES_MAX])
{
    const RhLayerKind *kind = ops->kind;
    int64_t h = ops->model->hidden, queries = (int64_t)kind->index_n_heads * kind->index_head_dim;
    int n = 0;
    if (chooses(ops)) {
        matrices[n++] = (Matrix){kind->q_lora_rank > 0 ? kind->q_lora_rank : h, queries, true};
        matrices[n++] = (Matrix){h, kind->index_head_dim, true};
        matrices[n++] = (Matrix){h, kind->index_n_heads, true};
    }
    if (kind->q_lora_rank > 0)
        matrices[n++] = (Matrix){h, kind->q_lora_rank, true};
    matrices[n++] = (Matrix){kind->q_lora_rank > 0 ? kind->q_lora_rank : h, w->q, false};
    if (kind->output_gate)
        matrices[n++] = (Matrix){kind->gate_from_q_latent ? kind->q_lora_rank : h, w->gate, false};
    matrices[n++] = (Matrix){h, w->down, true};
    matrices[n++] = (Matrix){kind->kv_lora_rank, w->up, false};
    matrices[n++] = (Matrix){w->v, h, false};
    return n;
}

static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    Matrix matrices[MATRICES_MAX];
    int count = matrices_of(ops, &w, matrices);
    /* the latents' norms, and scale and shift of the indexer's key */
    RhParams p = {.replicated = kind->kv_lora_rank + kind->q_lora_rank +
                                (chooses(ops) ? 2.0 * kind->index_head_dim : 0)};
    for (int i = 0; i < count; i++) {
        double entries = (double)matrices[i].in * (double)matrices[i].out;
        *(matrices[i].whole ? &p.replicated : &p.sharded) += entries;
    }
    p.replicated += kind->qkv_bias ? (double)(w.down + kind->q_lora_rank) : 0;
    p.replicated += kind->o_bias ? (double)ops->model->hidden : 0;
    return p;
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    return (RhCore){.heads = w->heads,
                    .kv_heads = w->heads,
                    .key = ops->kind->head_size,
                    .value = ops->kind->v_head_dim};
}

/* The core on latents: to a query multiplied with the matrices out of the latent, latents look like
 * the keys of one head, and all their columns except the rotated ones like its values. */
static RhCore core_of_latents(const RhOps *ops, const Widths *w)
{
    return (RhCore){.heads = w->heads,
                    .kv_heads = 1,
                    .key = w->down,
                    .value = ops->kind->kv_lora_rank,
                    .values_in_keys = true};
}

static RhCore core_as_used(const RhOps *ops, const Widths *w)
{
    return is_sparse(ops) ? core_of_latents(ops, w) : core_of(ops, w);
}

/* Query-key pairs that the indexer scores: each of its heads' queries by the key of every earlier
 * token. */
static double index_pairs(const RhOps *ops)
{
    double s = (double)ops->keys;
    return (double)ops->sequences * (ops->decoding ? s : 0.5 * s * s / MAX(ops->shard->cp, 1));
}

static double index_flops(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    double pair = 2 * (double)kind->index_n_heads * kind->index_head_dim;
    return is_sparse(ops) && chooses(ops) ? pair * index_pairs(ops) : 0;
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    Matrix matrices[MATRICES_MAX];
    int count = matrices_of(ops, &w, matrices);
    RhCore core = core_as_used(ops, &w);
    RhFlops f = {.pairs = rh_core_flops(ops, &core, false) + index_flops(ops)};
    for (int i = 0; i < count; i++)
        f.weights += 2 * (double)ops->tokens * (double)matrices[i].in * (double)matrices[i].out;
    return f;
}

/* --- Kernels --- */

static void latent_norms(RhOps *ops, bool backward)
{
    rh_ops_norm(ops, (double)ops->tokens * ops->kind->kv_lora_rank, backward);
    if (ops->kind->q_lora_rank > 0)
        rh_ops_norm(ops, (double)ops->tokens * ops->kind->q_lora_rank, backward);
}

/* Rotation of every head's query, and of the part of keys that all heads share. */
static void rotation(RhOps *ops, const Widths *w, bool backward)
{
    double columns = (double)((w->heads + 1) * ops->kind->qk_rope_head_dim);
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_rotary(ops, (double)ops->tokens * columns, backward);
}

static void assembly(RhOps *ops, const Widths *w, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ASSEMBLY,
                       (double)ops->tokens * (double)(w->q + w->v), backward);
}

/* Kernels of the core on whole keys and values, which come out of the latents, also those of cached
 * tokens. */
static void over_keys(RhOps *ops, const Widths *w, RhPass pass)
{
    RhCore core = core_of(ops, w);
    int64_t before = ops->sequences * (ops->keys - ops->queries);
    bool chunk = pass == RH_PASS_PREFILL && ops->shard->cached > 0;
    rh_ops_linear(ops, ops->tokens + (chunk ? before : 0), w->up, ops->kind->kv_lora_rank);
    assembly(ops, w, false);
    rh_core_kernels(ops, &core, pass);
}

static void over_latents(RhOps *ops, const Widths *w, RhPass pass)
{
    const RhLayerKind *kind = ops->kind;
    RhCore core = core_of_latents(ops, w);
    rh_ops_gemm(ops, w->heads, ops->tokens, kind->kv_lora_rank,
                kind->head_size - kind->qk_rope_head_dim);
    rh_core_kernels(ops, &core, pass);
    rh_ops_gemm(ops, w->heads, ops->tokens, kind->v_head_dim, kind->kv_lora_rank);
}

/* Kernels of the indexer: scores, reduced over the heads to one per pair, written in fp32 and read
 * to choose the best. Backward, the queries and keys of chosen pairs have gradients. */
static void indexer(RhOps *ops, bool backward)
{
    const RhLayerKind *kind = ops->kind;
    if (!is_sparse(ops) || !chooses(ops))
        return;
    double chosen = (double)ops->sequences * rh_ops_visible_pairs(ops) / index_pairs(ops);
    RhKernel scores = {.cls = RH_KERNEL_ATTENTION,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .causal = !ops->decoding,
                       .heads = kind->index_n_heads,
                       .kv_heads = 1,
                       .batch = ops->sequences,
                       .m = ops->queries,
                       .n = ops->keys,
                       .k = kind->index_head_dim,
                       .flops = (backward ? 2 * chosen : 1) * index_flops(ops),
                       .bytes = ops->element_bytes * kind->index_head_dim *
                                ((double)ops->tokens * kind->index_n_heads +
                                 (double)(ops->sequences * ops->keys))};
    g_array_append_val(ops->out, scores);
    if (!backward)
        rh_ops_stream(ops, RH_KERNEL_REDUCE, 2 * RH_FP32 * index_pairs(ops), 1);
}

static void scale(RhOps *ops, const Widths *w, bool backward)
{
    if (ops->kind->output_gate)
        rh_ops_gate(ops, (double)(ops->tokens * w->v), backward);
}

/* Kernels of forward. The last two matrices lead out of the keys' latent, and out of the
 * operator. */
static void forward(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    Matrix matrices[MATRICES_MAX];
    int count = matrices_of(ops, &w, matrices);
    for (int i = 0; i < count - 2; i++)
        rh_ops_linear(ops, ops->tokens, matrices[i].out, matrices[i].in);
    latent_norms(ops, false);
    rotation(ops, &w, false);
    guint core = ops->out->len;
    indexer(ops, false);
    if (pass == RH_PASS_DECODE || is_sparse(ops))
        over_latents(ops, &w, pass);
    else
        over_keys(ops, &w, pass);
    rh_ops_mark_core(ops, core);
    scale(ops, &w, false);
    rh_ops_linear_summed(ops, ops->model->hidden, w.v);
}

static void backward(RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_as_used(ops, &w);
    Matrix matrices[MATRICES_MAX];
    int count = matrices_of(ops, &w, matrices);
    rh_ops_linear_gathered(ops, w.v, ops->model->hidden);
    scale(ops, &w, true);
    rh_core_kernels(ops, &core, RH_PASS_BACKWARD_DATA);
    indexer(ops, true);
    if (!is_sparse(ops))
        assembly(ops, &w, true);
    rotation(ops, &w, true);
    latent_norms(ops, true);
    for (int i = count - 2; i >= 0; i--)
        rh_ops_linear(ops, ops->tokens, matrices[i].in, matrices[i].out);
}

static void weight_gradients(RhOps *ops)
{
    Widths w = widths_of(ops);
    Matrix matrices[MATRICES_MAX];
    int count = matrices_of(ops, &w, matrices);
    for (int i = count - 1; i >= 0; i--)
        rh_ops_linear_gradient(ops, matrices[i].out, matrices[i].in);
    if (ops->kind->o_bias)
        rh_ops_bias_gradient(ops, ops->model->hidden);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, w.down + ops->kind->q_lora_rank);
}

/* Recomputes the core's inputs from the latents, after their norms. */
static void replay_up(RhOps *ops, const Widths *w)
{
    const RhLayerKind *kind = ops->kind;
    rh_ops_linear(ops, ops->tokens, w->q,
                  kind->q_lora_rank > 0 ? kind->q_lora_rank : ops->model->hidden);
    rotation(ops, w, false);
    if (is_sparse(ops)) {
        rh_ops_gemm(ops, w->heads, ops->tokens, kind->kv_lora_rank,
                    kind->head_size - kind->qk_rope_head_dim);
    } else {
        rh_ops_linear(ops, ops->tokens, w->up, kind->kv_lora_rank);
        assembly(ops, w, false);
    }
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_as_used(ops, &w);
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
    case RH_PASS_PREFILL:
    case RH_PASS_DECODE:
        forward(ops, pass);
        break;
    case RH_PASS_BACKWARD_DATA:
        backward(ops);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        weight_gradients(ops);
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
        if (rh_ops_replays(ops, RH_RECOMPUTE_UP))
            replay_up(ops, &w);
        if (rh_ops_replays(ops, RH_RECOMPUTE_CORE))
            rh_core_kernels(ops, &core, pass);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* Columns per token that the core reads and writes: queries, whole keys and values, the output; or,
 * on latents, queries before and after they are taken to the latents, and outputs likewise. */
static double core_columns(const RhOps *ops, const Widths *w)
{
    double latents = (double)(w->heads * (ops->kind->kv_lora_rank + ops->kind->qk_rope_head_dim));
    double outputs = (double)(w->heads * ops->kind->kv_lora_rank);
    return is_sparse(ops) ? (double)(w->q + w->v) + latents + outputs
                          : (double)(2 * w->q + 2 * w->v);
}

/* Columns of these that come out of the latents: all but the output. */
static double up_columns(const RhOps *ops, const Widths *w)
{
    double outputs =
        is_sparse(ops) ? (double)(w->v + w->heads * ops->kind->kv_lora_rank) : (double)w->v;
    return core_columns(ops, w) - outputs;
}

/* Bytes of the indexer: its queries, key and weights, and the indices of the chosen keys. */
static double index_bytes(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    double columns =
        (double)kind->index_n_heads * (kind->index_head_dim + 1) + kind->index_head_dim;
    if (!chooses(ops))
        return 0;
    return ops->element_bytes * columns + (is_sparse(ops) ? RH_FP32 * kind->window_tokens : 0);
}

/* Bytes. Kept: latents before and after their norm (the second feed the next GEMM), and the core's
 * inputs and outputs. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    RhCore core = core_as_used(ops, &w);
    double e = ops->element_bytes, of_core = rh_core_kept_bytes(ops, &core);
    double normed = (double)(kind->kv_lora_rank + kind->q_lora_rank);
    double columns =
        normed + kind->qk_rope_head_dim + core_columns(ops, &w) +
        (kind->output_gate ? (double)(w.v + w.gate) : 0); /* the gate, and the scaled output */
    double row = e * columns + (rh_ops_kept_bytes(ops) + rh_ops_norm_copies(ops)) * normed +
                 rh_ops_kept_copy_bytes(ops) * (double)w.v + index_bytes(ops);
    double up = up_columns(ops, &w);
    return (RhOperatorBytes){
        .kept = (double)ops->tokens * row + of_core,
        .dropped = (rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0) +
                   (rh_ops_replays(ops, RH_RECOMPUTE_UP) ? e * (double)ops->tokens * up : 0),
        .forward = e * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops) +
                   rh_core_context_bytes(ops, &core, false),
        .backward = rh_core_backward_bytes(ops, &core) + rh_core_context_bytes(ops, &core, true)};
}

/* Cache: the latent, the rotated part of keys, and the indexer's key, whole on every rank. Sparse
 * attention chooses among all tokens, so none is dropped. */
static RhCacheBytes cache(const RhOps *ops)
{
    RhLayerKind kind = *ops->kind;
    RhOps all = *ops;
    kind.window_tokens = 0;
    all.kind = &kind;
    return rh_ops_cached(&all, kind.kv_lora_rank + kind.qk_rope_head_dim +
                                   (chooses(ops) ? kind.index_head_dim : 0));
}

/* Linear layers. The block's first matrices share one input, kept where either has an adapter;
 * normed latents are kept for the matrices out of them alone, unless these are recomputed. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    const RhLayerKind *kind = ops->kind;
    const RhLora *lora = &ops->shard->lora;
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    double operand = rh_ops_kept_bytes(ops), n = (double)ops->tokens;
    bool latent = kind->q_lora_rank > 0, again = rh_ops_replays(ops, RH_RECOMPUTE_UP);
    RhLinearName first = latent ? RH_LINEAR_Q_DOWN : RH_LINEAR_Q;
    bool read = rh_lora_adapts(lora, first) || rh_lora_adapts(lora, RH_LINEAR_KV_DOWN) ||
                (again && !latent);
    int count = 0;
    if (latent)
        list[count++] = (RhLinear){
            .name = first, .in = h, .out = kind->q_lora_rank, .by_columns = true, .whole = true};
    list[count++] = (RhLinear){.name = latent ? RH_LINEAR_Q_UP : RH_LINEAR_Q,
                               .in = latent ? kind->q_lora_rank : h,
                               .out = w.q,
                               .by_columns = true,
                               .kept = latent && !again ? operand * n * kind->q_lora_rank : 0,
                               .again = RH_RECOMPUTE_UP};
    list[count++] = (RhLinear){.name = RH_LINEAR_KV_DOWN,
                               .in = h,
                               .out = w.down,
                               .by_columns = true,
                               .whole = true,
                               .kept = read ? 0 : rh_ops_normed_input_bytes(ops)};
    list[count++] = (RhLinear){.name = RH_LINEAR_KV_UP,
                               .in = kind->kv_lora_rank,
                               .out = w.up,
                               .by_columns = true,
                               .kept = again ? 0 : operand * n * kind->kv_lora_rank,
                               .again = RH_RECOMPUTE_UP};
    list[count++] = (RhLinear){.name = RH_LINEAR_PROJ,
                               .in = w.v,
                               .out = h,
                               .kept = n * rh_ops_kept_copy_bytes(ops) * (double)w.v};
    return count;
}

/* Members that both kinds of latent attention share. */
#define LATENT_ATTENTION(name_)                                                                    \
    .name = (name_), .resolve = resolve, .shape = shape, .params = params, .flops = flops,         \
    .kernels = kernels, .bytes = bytes, .cache = cache,                                            \
    .modules = RH_RECOMPUTE_CORE | RH_RECOMPUTE_UP, .in_steps = true, .gathers_operands = true

const RhOperator rh_latent_attention = {LATENT_ATTENTION("latent attention"), .linears = linears,
                                        .rings = true};

/* Latent attention with an indexer. */
const RhOperator rh_sparse_attention = {LATENT_ATTENTION("sparse latent attention")};
