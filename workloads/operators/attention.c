/* Attention with grouped queries: one GEMM for q, k and v, rotary, the core, one GEMM out
 * (Megatron-LM, arXiv 1909.08053, section 3). Formulas: docs/model-workload.md. */
#include "workloads/operators/operator.h"

/* Bytes per element of q and k: read and write. Eager: rotate half (negate, concatenate), two
 * products and a sum, for each of q and k. */
static const RhStream ROTARY = {4, 4.8, 20.5, 24.6, 10};

/* Bytes per score of mask, scale, softmax and dropout: fused 10 forward and 16 backward, eager 34
 * and 40; round counts that reproduce the public unfused runs of the Aleph Alpha sweep. Assumed. */
static const RhStream SCORES = {10, 16, 34, 40, 7};

/* FlashAttention-2 (arXiv 2307.08691), section 4.1: backward has 5 matmuls for forward's 2. */
#define FLASH_BACKWARD 2.5
/* Log-sum-exp, fp32, one a query and head; same paper, section 3.1. */
#define STATISTICS_BYTES 4.0

/* One rank's heads, and columns of its matrices: heads x head size, of queries and of keys. */
typedef struct {
    int64_t heads, kv_heads, q, kv, qkv;
} Widths;

/* At least one key-value head: fewer than t are replicated. */
static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads),
                .kv_heads = MAX(rh_ops_cut(ops, kind->kv_heads), 1)};
    w.q = w.heads * kind->head_size;
    w.kv = w.kv_heads * kind->head_size;
    w.qkv = w.q + 2 * w.kv;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->heads;
    kind->kv_heads = (int32_t)c->kv_heads;
    kind->head_size = (int32_t)c->head_size;
    kind->qk_norm = c->qk_norm != 0;
    kind->qkv_bias = c->qkv_bias != 0;
    kind->out_bias = c->out_bias != 0;
}

static RhParams params(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden;
    return (RhParams){.sharded = h * (double)(w.qkv + w.q) + (kind->qkv_bias ? (double)w.qkv : 0),
                      .replicated =
                          (kind->out_bias ? h : 0) + (kind->qk_norm ? 2.0 * kind->head_size : 0)};
}

/* Two products of 2 d FLOPs for each head and visible pair. */
static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double entries = (double)ops->model->hidden * (double)(w.qkv + w.q);
    return (RhFlops){.weights = 2 * (double)ops->tokens * entries,
                     .pairs = 4 * (double)ops->sequences * (double)w.q * rh_ops_visible_pairs(ops)};
}

/* --- Kernels --- */

/* One fused kernel over so many bytes. */
static void fused(RhOps *ops, const Widths *w, bool backward, double bytes)
{
    double forward = flops(ops).pairs;
    RhKernel kernel = {.cls = backward ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .causal = !ops->decoding,
                       .heads = (int32_t)w->heads,
                       .kv_heads = (int32_t)w->kv_heads,
                       .batch = ops->sequences,
                       .m = ops->queries,
                       .n = rh_ops_reach(ops),
                       .k = ops->kind->head_size,
                       .flops = backward ? FLASH_BACKWARD * forward : forward,
                       .bytes = bytes};
    g_array_append_val(ops->out, kernel);
}

/* Forward: q, out, k, v. Backward: these, and the gradient of each. */
static void flash(RhOps *ops, bool backward)
{
    Widths w = widths_of(ops);
    double columns = (double)(2 * w.q + 2 * w.kv) * (backward ? 2 : 1);
    fused(ops, &w, backward,
          (double)ops->tokens *
              (ops->element_bytes * columns + STATISTICS_BYTES * (double)w.heads));
}

/* Serving keeps no statistics. A prompt's keys and values are read where they were written; a new
 * token reads those of its cache. */
static void serve(RhOps *ops)
{
    Widths w = widths_of(ops);
    double cached = (double)ops->sequences * (double)rh_ops_reach(ops);
    double read = ops->decoding ? cached : (double)ops->tokens;
    fused(ops, &w, false,
          ops->element_bytes * (2 * read * (double)w.kv + 2 * (double)ops->tokens * (double)w.q));
}

/* Scores and probabilities are whole rectangles in memory, whatever the mask. */
static void unfused(RhOps *ops, bool backward)
{
    int64_t queries = ops->queries, keys = ops->keys, d = ops->kind->head_size;
    int64_t batch = ops->sequences * widths_of(ops).heads;
    double scores = (double)batch * (double)queries * (double)keys;
    if (backward) {
        rh_ops_gemm(ops, batch, queries, keys, d); /* d probabilities = d out x v' */
        rh_ops_gemm(ops, batch, keys, d, queries); /* d v = probabilities' x d out */
        rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &SCORES, scores, true);
        rh_ops_gemm(ops, batch, queries, d, keys); /* d q = d scores x k */
        rh_ops_gemm(ops, batch, keys, d, queries); /* d k = d scores' x q */
        return;
    }
    rh_ops_gemm(ops, batch, queries, keys, d);
    rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &SCORES, scores, false);
    rh_ops_gemm(ops, batch, queries, d, keys);
}

static void core(RhOps *ops, bool backward)
{
    if (ops->shard->flash)
        flash(ops, backward);
    else
        unfused(ops, backward);
}

/* Norm and rotation of queries and keys. */
static void queries_and_keys(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)(w->q + w->kv);
    if (ops->kind->qk_norm)
        rh_ops_norm(ops, elements, backward);
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ROTARY, elements, backward);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    rh_ops_weight_gradient(ops, h, w->q);
    rh_ops_weight_gradient(ops, w->qkv, h);
    if (ops->kind->out_bias)
        rh_ops_bias_gradient(ops, h);
    if (ops->kind->qkv_bias)
        rh_ops_bias_gradient(ops, w->qkv);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    int64_t h = ops->model->hidden;
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
    case RH_PASS_PREFILL:
    case RH_PASS_DECODE:
        rh_ops_gemm(ops, 1, ops->tokens, w.qkv, h);
        queries_and_keys(ops, &w, false);
        if (rh_pass_trains(pass))
            core(ops, false);
        else
            serve(ops);
        rh_ops_gemm(ops, 1, ops->tokens, h, w.q);
        break;
    case RH_PASS_BACKWARD_DATA:
        rh_ops_gemm(ops, 1, ops->tokens, w.q, h);
        core(ops, true);
        queries_and_keys(ops, &w, true);
        rh_ops_gemm(ops, 1, ops->tokens, h, w.qkv);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        weight_gradients(ops, &w);
        break;
    case RH_PASS_RECOMPUTE_SELECTIVE:
        core(ops, false);
        break;
    case RH_PASS_NONE:
    case RH_PASS_LAST:
    default:
        break;
    }
}

/* --- Bytes: Korthikanti et al. 2022 (arXiv 2205.05198), with GQA and fused attention --- */

/* What the core alone keeps, and selective recomputation drops. Unfused: softmax output, dropout
 * mask and dropout output, (2 e + 1) a score (equation 2); without dropout the masked scores and
 * the softmax output. */
static double core_bytes(const RhOps *ops, const Widths *w)
{
    double rows = (double)ops->tokens * (double)w->heads;
    if (ops->shard->flash)
        return STATISTICS_BYTES * rows;
    return rows * (double)ops->keys *
           (2 * ops->element_bytes + (ops->model->attention_dropout ? 1 : 0));
}

/* The largest of the moments of backward: a GEMM's result beside what it reads and nothing keeps.
 */
static double backward_bytes(const RhOps *ops, const Widths *w)
{
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double q = n * (double)w->q, d_qkv = n * (double)w->qkv;
    double scores = ops->shard->flash ? 0 : 2 * n * (double)w->heads * (double)ops->keys;
    double into_core = e * (wide + q);
    double inside = e * (q + d_qkv + scores);
    double out_of_core = e * (d_qkv + wide) + rh_ops_gathered_bytes(ops);
    return MAX(into_core, MAX(inside, out_of_core));
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    int64_t normed = ops->kind->qk_norm ? w.q + w.kv : 0; /* queries and keys before their norm */
    double columns = (double)(normed + w.qkv + w.q), core = core_bytes(ops, &w);
    return (RhOperatorBytes){.kept = ops->element_bytes * (double)ops->tokens * columns + core,
                             .core = core,
                             .forward = ops->element_bytes * rh_ops_hidden_elements(ops) +
                                        rh_ops_gathered_bytes(ops),
                             .backward = backward_bytes(ops, &w)};
}

const RhOperator rh_attention = {.name = "attention",
                                 .shape = shape,
                                 .params = params,
                                 .flops = flops,
                                 .kernels = kernels,
                                 .bytes = bytes};
