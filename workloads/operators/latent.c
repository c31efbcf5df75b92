/* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): keys and values are
 * made from one latent vector a token, and a part of each key that is rotated and shared by all
 * heads. Queries may go through a latent of their own. Formulas: docs/model-workload.md.
 *
 * Training and prompts make whole keys and values; decoding reads the latents alone, with the
 * matrices that would make keys and values multiplied into queries and outputs (section 2.1.2).
 * Matrices into latents and their norms are held and computed by every tensor-parallel rank, as in
 * Megatron-LM; those out of latents are cut by heads. */
#include "workloads/operators/operator.h"

/* Per element of whole keys and values: read what they are made of, write them; backward adds the
 * same up. Eager: keys, then values. */
#define COPY (RH_READ + RH_WRITE)
static const RhStream ASSEMBLY = {COPY, COPY, COPY, COPY, 2};
/* One rank's heads, and columns: of queries (as many as of whole keys), of values, of the parts
 * that are rotated, of what comes out of the latent, of what goes into it. */
typedef struct {
    int64_t heads, q, v, up, down;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads), .down = kind->kv_rank + kind->rope_size};
    w.q = w.heads * kind->head_size;
    w.v = w.heads * kind->value_size;
    w.up = w.q + w.v - w.heads * kind->rope_size;
    return w;
}

static void resolve(RhConfig *c)
{
    c->head_size = c->nope_size + c->rope_size;
    c->kv_heads = c->heads;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->heads;
    kind->kv_heads = (int32_t)c->kv_heads;
    kind->head_size = (int32_t)c->head_size;
    kind->q_rank = (int32_t)c->q_rank;
    kind->kv_rank = (int32_t)c->kv_rank;
    kind->rope_size = (int32_t)c->rope_size;
    kind->value_size = (int32_t)c->value_size;
    kind->qkv_bias = c->qkv_bias != 0;
    kind->out_bias = c->out_bias != 0;
}

/* The weight matrices, in the order of a forward pass: rows of the input, columns of the output. */
typedef struct {
    int64_t in, out;
    bool whole; /* on every rank */
} Matrix;

/* Into the queries' latent and out of it, or straight; into the keys' and out of it; the output. */
static int matrices_of(const RhOps *ops, const Widths *w, Matrix matrices[5])
{
    const RhLayerKind *kind = ops->kind;
    int64_t h = ops->model->hidden;
    int n = 0;
    if (kind->q_rank > 0)
        matrices[n++] = (Matrix){h, kind->q_rank, true};
    matrices[n++] = (Matrix){kind->q_rank > 0 ? kind->q_rank : h, w->q, false};
    matrices[n++] = (Matrix){h, w->down, true};
    matrices[n++] = (Matrix){kind->kv_rank, w->up, false};
    matrices[n++] = (Matrix){w->v, h, false};
    return n;
}

static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    Matrix matrices[5];
    int count = matrices_of(ops, &w, matrices);
    RhParams p = {.replicated = kind->kv_rank + kind->q_rank}; /* the latents' norms */
    for (int i = 0; i < count; i++) {
        double entries = (double)matrices[i].in * (double)matrices[i].out;
        *(matrices[i].whole ? &p.replicated : &p.sharded) += entries;
    }
    p.replicated += kind->qkv_bias ? (double)(w.down + kind->q_rank) : 0;
    p.replicated += kind->out_bias ? (double)ops->model->hidden : 0;
    return p;
}

static RhCore core_of(const RhOps *ops, const Widths *w)
{
    return (RhCore){.heads = w->heads,
                    .kv_heads = w->heads,
                    .key = ops->kind->head_size,
                    .value = ops->kind->value_size};
}

/* To a query that is one with the matrices out of the latent, latents look as keys of one head, and
 * all their columns but the rotated ones as its values. */
static RhCore core_of_latents(const RhOps *ops, const Widths *w)
{
    return (RhCore){.heads = w->heads,
                    .kv_heads = 1,
                    .key = w->down,
                    .value = ops->kind->kv_rank,
                    .values_in_keys = true};
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    Matrix matrices[5];
    int count = matrices_of(ops, &w, matrices);
    RhCore core = core_of(ops, &w);
    RhFlops f = {.pairs = rh_core_flops(ops, &core, false)};
    for (int i = 0; i < count; i++)
        f.weights += 2 * (double)ops->tokens * (double)matrices[i].in * (double)matrices[i].out;
    return f;
}

/* --- Kernels --- */

static void latent_norms(RhOps *ops, bool backward)
{
    rh_ops_norm(ops, (double)ops->tokens * ops->kind->kv_rank, backward);
    if (ops->kind->q_rank > 0)
        rh_ops_norm(ops, (double)ops->tokens * ops->kind->q_rank, backward);
}

/* Of every head's query, and of the part of keys that all heads share. */
static void rotation(RhOps *ops, const Widths *w, bool backward)
{
    double columns = (double)((w->heads + 1) * ops->kind->rope_size);
    rh_ops_rotary(ops, (double)ops->tokens * columns, backward);
}

static void assembly(RhOps *ops, const Widths *w, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ASSEMBLY,
                       (double)ops->tokens * (double)(w->q + w->v), backward);
}

static void over_keys(RhOps *ops, const Widths *w, RhPass pass)
{
    RhCore core = core_of(ops, w);
    rh_ops_gemm(ops, 1, ops->tokens, w->up, ops->kind->kv_rank);
    assembly(ops, w, false);
    rh_core_kernels(ops, &core, pass);
}

static void over_latents(RhOps *ops, const Widths *w, RhPass pass)
{
    const RhLayerKind *kind = ops->kind;
    RhCore core = core_of_latents(ops, w);
    rh_ops_gemm(ops, w->heads, ops->tokens, kind->kv_rank, kind->head_size - kind->rope_size);
    rh_core_kernels(ops, &core, pass);
    rh_ops_gemm(ops, w->heads, ops->tokens, kind->value_size, kind->kv_rank);
}

/* The last two matrices come out of the keys' latent, and out of the operator. */
static void forward(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    Matrix matrices[5];
    int count = matrices_of(ops, &w, matrices);
    for (int i = 0; i < count - 2; i++)
        rh_ops_gemm(ops, 1, ops->tokens, matrices[i].out, matrices[i].in);
    latent_norms(ops, false);
    rotation(ops, &w, false);
    if (pass == RH_PASS_DECODE)
        over_latents(ops, &w, pass);
    else
        over_keys(ops, &w, pass);
    rh_ops_gemm(ops, 1, ops->tokens, ops->model->hidden, w.v);
}

static void backward(RhOps *ops)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    Matrix matrices[5];
    int count = matrices_of(ops, &w, matrices);
    rh_ops_gemm(ops, 1, ops->tokens, w.v, ops->model->hidden);
    rh_core_kernels(ops, &core, RH_PASS_BACKWARD_DATA);
    assembly(ops, &w, true);
    rotation(ops, &w, true);
    latent_norms(ops, true);
    for (int i = count - 2; i >= 0; i--)
        rh_ops_gemm(ops, 1, ops->tokens, matrices[i].in, matrices[i].out);
}

static void weight_gradients(RhOps *ops)
{
    Widths w = widths_of(ops);
    Matrix matrices[5];
    int count = matrices_of(ops, &w, matrices);
    for (int i = count - 1; i >= 0; i--)
        rh_ops_weight_gradient(ops, matrices[i].out, matrices[i].in);
    if (ops->kind->out_bias)
        rh_ops_bias_gradient(ops, ops->model->hidden);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, w.down + ops->kind->q_rank);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
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
        rh_core_kernels(ops, &core, pass);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* Kept: latents before and after their norm (the second feed the next GEMM), queries, whole keys
 * and values, attention's output. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    RhCore core = core_of(ops, &w);
    double e = ops->element_bytes, dropped = rh_core_kept_bytes(ops, &core);
    double normed = (double)(kind->kv_rank + kind->q_rank);
    double columns = 2 * normed + (double)(kind->rope_size + 2 * w.q + 2 * w.v);
    double row = e * columns + rh_ops_norm_copies(ops) * normed;
    return (RhOperatorBytes){.kept = (double)ops->tokens * row + dropped,
                             .core = dropped,
                             .forward = e * rh_ops_hidden_elements(ops) +
                                        rh_ops_gathered_bytes(ops) + rh_core_ring_bytes(ops, &core),
                             .backward = rh_core_backward_bytes(ops, &core) +
                                         2 * rh_core_ring_bytes(ops, &core)};
}

const RhOperator rh_latent_attention = {.name = "latent attention",
                                        .resolve = resolve,
                                        .shape = shape,
                                        .params = params,
                                        .flops = flops,
                                        .kernels = kernels,
                                        .bytes = bytes};
