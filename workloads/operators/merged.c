/* Attention of a decoder's tokens to themselves and to what its encoder puts out, in one (T5Gemma 2, Google 2025, arXiv 2512.14856,
 * section 2; transformers' modeling_t5gemma2.py): the matrices of keys and values are those of both, queries see the tokens before them and
 * all of the encoder's, under one softmax. Counted as two cores. Formulas: docs/theory/workload.md. */
#include "workloads/operators/operator.h"

/* How it looks at the encoder's tokens: no mask, no window. */
typedef struct {
    RhLayerKind kind;
    RhOps ops;
    RhCore core;
    int64_t rows, kv; /* the encoder's tokens, of all sequences; columns of their keys and values */
} Others;

static void look_at_others(const RhOps *ops, Others *o)
{
    int64_t d = ops->kind->head_size, kv_heads = MAX(rh_ops_cut(ops, ops->kind->kv_heads), 1);
    o->kind = *ops->kind;
    o->kind.both_ways = true;
    o->kind.window_tokens = 0;
    o->ops = *ops;
    o->ops.kind = &o->kind;
    o->ops.keys = ops->others;
    o->core = (RhCore){
        .heads = rh_ops_cut(ops, ops->kind->heads), .kv_heads = kv_heads, .key = d, .value = d};
    o->rows = ops->sequences * ops->others;
    o->kv = 2 * kv_heads * d;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    kind->cross_width = c->hidden;
}

static RhParams params(const RhOps *ops)
{
    return rh_attention.params(ops);
}

static RhFlops flops(const RhOps *ops)
{
    Others o;
    look_at_others(ops, &o);
    RhFlops f = rh_attention.flops(ops);
    f.weights += 2 * (double)(o.rows * o.kv) * (double)ops->kind->cross_width;
    f.pairs += rh_core_flops(&o.ops, &o.core, false);
    return f;
}

/* --- Kernels --- */

static void norm_of_keys(RhOps *ops, const Others *o, bool backward)
{
    if (ops->kind->qk_norm)
        rh_ops_norm(ops, (double)o->rows * (double)o->kv / 2, backward);
}

/* Kernels of the encoder's side join the same list. */
static void forward(RhOps *ops, Others *o, RhPass pass)
{
    bool cached = pass == RH_PASS_DECODE || (pass == RH_PASS_PREFILL && ops->shard->cached > 0);
    if (!cached) {
        rh_ops_linear(ops, o->rows, o->kv, ops->kind->cross_width);
        norm_of_keys(ops, o, false);
    }
    rh_core_kernels(&o->ops, &o->core, pass);
}

/* The gradient of the encoder's output is added to that of the layers behind. */
static void backward(RhOps *ops, Others *o)
{
    double encoded = (double)o->rows * (double)ops->kind->cross_width;
    rh_core_kernels(&o->ops, &o->core, RH_PASS_BACKWARD_DATA);
    norm_of_keys(ops, o, true);
    rh_ops_linear(ops, o->rows, ops->kind->cross_width, o->kv);
    rh_ops_stream(ops, RH_KERNEL_ADD, (2 * RH_READ + RH_WRITE) / 2 * ops->element_bytes * encoded,
                  1);
}

static void weight_gradients(RhOps *ops, const Others *o)
{
    RhOps others = *ops;
    others.tokens = o->rows;
    rh_ops_linear_gradient(&others, o->kv, ops->kind->cross_width);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(&others, o->kv);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Others o;
    look_at_others(ops, &o);
    rh_attention.kernels(ops, pass);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, &o, pass);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops, &o);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops, &o);
    else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_CORE))
        rh_core_kernels(&o.ops, &o.core, pass);
}

/* Kept besides: the encoder's keys and values, keys before their norm, what the core keeps. Backward their gradient lies beside that of
 * the encoder's output. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Others o;
    look_at_others(ops, &o);
    RhOperatorBytes b = rh_attention.bytes(ops);
    double e = ops->element_bytes, kv = (double)o.rows * (double)o.kv;
    double encoded = (double)o.rows * (double)ops->kind->cross_width;
    double of_core = rh_core_kept_bytes(&o.ops, &o.core);
    double normed = ops->kind->qk_norm ? (e + rh_ops_norm_copies(ops)) * kv / 2 : 0;
    double gathered = ops->shard->sequence_parallel ? e * encoded : 0;
    b.kept += e * kv + normed + of_core;
    b.dropped += rh_ops_replays(ops, RH_RECOMPUTE_CORE) ? of_core : 0;
    b.forward += gathered;
    b.backward = MAX(b.backward, e * (kv + encoded)) + gathered;
    return b;
}

/* Keys and values of the encoder's tokens, however long the answer. */
static RhCacheBytes cache(const RhOps *ops)
{
    Others o;
    look_at_others(ops, &o);
    RhCacheBytes own = rh_attention.cache(ops);
    double e = ops->shard->cache_bytes > 0 ? ops->shard->cache_bytes : ops->element_bytes;
    own.sequence += e * (double)o.kv * (double)ops->others;
    return own;
}

const RhOperator rh_merged_attention = {.name = "attention to own and the encoder's tokens",
                                        .shape = shape,
                                        .params = params,
                                        .flops = flops,
                                        .kernels = kernels,
                                        .bytes = bytes,
                                        .cache = cache,
                                        .modules = RH_RECOMPUTE_CORE,
                                        .gathers_operands = true,
                                        .key_heads = true};
