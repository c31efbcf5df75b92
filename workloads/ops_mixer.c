/* Attention: one GEMM for q, k and v, rotary, the core, one GEMM out (Megatron-LM, arXiv
 * 1909.08053, section 3). Formulas: docs/model-workload.md. */
#include "workloads/ops_private.h"

/* Bytes per element of q and k: read and write. Eager: rotate half (negate, concatenate), two
 * products and a sum, for each of q and k. */
static const RhStream ROTARY = {4, 4.8, 20.5, 24.6, 10};

/* Bytes per score of mask, scale, softmax and dropout: fused 10 forward and 16 backward, eager 34
 * and 40; round counts that reproduce the public unfused runs of the Aleph Alpha sweep. Assumed. */
static const RhStream SCORES = {10, 16, 34, 40, 7};

/* FlashAttention-2 (arXiv 2307.08691), section 4.1: backward has 5 matmuls for forward's 2. */
#define FLASH_BACKWARD 2.5
#define STATISTICS_BYTES                                                                           \
    4.0 /* log-sum-exp, fp32, one a query and head; same paper, section 3.1                        \
         */

static void flash(RhOps *ops, bool backward)
{
    const RhLayerKind *kind = ops->kind;
    const RhWidths *w = &ops->widths;
    int64_t s = ops->shard->sequence, b = ops->shard->microbatch;
    int64_t keys = kind->window_tokens > 0 ? MIN(kind->window_tokens, s) : s;
    double pairs = rh_visible_pairs(kind, s), tokens = (double)ops->tokens;
    double forward = 4 * (double)b * (double)w->q * pairs;
    /* Forward: q, out, k, v. Backward: these, and the gradient of each. */
    double columns = (double)(2 * w->q + 2 * w->kv) * (backward ? 2 : 1);
    RhKernel kernel = {
        .cls = backward ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION,
        .dtype = (uint8_t)ops->shard->dtype,
        .causal = true,
        .heads = (int32_t)w->heads,
        .kv_heads = (int32_t)w->kv_heads,
        .batch = b,
        .m = s,
        .n = keys,
        .k = kind->head_size,
        .flops = backward ? FLASH_BACKWARD * forward : forward,
        .bytes = tokens * (ops->element_bytes * columns + STATISTICS_BYTES * (double)w->heads)};
    g_array_append_val(ops->out, kernel);
}

/* Scores and probabilities are whole squares in memory, whatever the mask. */
static void unfused(RhOps *ops, bool backward)
{
    int64_t s = ops->shard->sequence, d = ops->kind->head_size;
    int64_t batch = ops->shard->microbatch * ops->widths.heads;
    double scores = (double)batch * (double)s * (double)s;
    if (backward) {
        rh_ops_gemm(ops, batch, s, s, d); /* d probabilities = d out x v' */
        rh_ops_gemm(ops, batch, s, d, s); /* d v = probabilities' x d out */
        rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &SCORES, scores, true);
        rh_ops_gemm(ops, batch, s, d, s); /* d q = d scores x k */
        rh_ops_gemm(ops, batch, s, d, s); /* d k = d scores' x q */
        return;
    }
    rh_ops_gemm(ops, batch, s, s, d);
    rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &SCORES, scores, false);
    rh_ops_gemm(ops, batch, s, d, s);
}

static void core(RhOps *ops, bool backward)
{
    if (ops->shard->flash)
        flash(ops, backward);
    else
        unfused(ops, backward);
}

/* Norm and rotation of queries and keys. */
static void queries_and_keys(RhOps *ops, bool backward)
{
    double elements = (double)ops->tokens * (double)(ops->widths.q + ops->widths.kv);
    if (ops->kind->qk_norm)
        rh_ops_norm(ops, elements, backward);
    if (ops->model->position == RH_POSITION_ROTARY)
        rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ROTARY, elements, backward);
}

void rh_mixer_kernels(RhOps *ops, RhPass pass)
{
    const RhWidths *w = &ops->widths;
    int64_t h = ops->model->hidden;
    switch (pass) {
    case RH_PASS_FORWARD:
    case RH_PASS_RECOMPUTE_FULL:
        rh_ops_gemm(ops, 1, ops->tokens, w->qkv, h);
        queries_and_keys(ops, false);
        core(ops, false);
        rh_ops_gemm(ops, 1, ops->tokens, h, w->q);
        break;
    case RH_PASS_BACKWARD_DATA:
        rh_ops_gemm(ops, 1, ops->tokens, w->q, h);
        core(ops, true);
        queries_and_keys(ops, true);
        rh_ops_gemm(ops, 1, ops->tokens, h, w->qkv);
        break;
    case RH_PASS_BACKWARD_WEIGHT:
        rh_ops_weight_gradient(ops, h, w->q);
        rh_ops_weight_gradient(ops, w->qkv, h);
        if (ops->kind->out_bias)
            rh_ops_bias_gradient(ops, h);
        if (ops->kind->qkv_bias)
            rh_ops_bias_gradient(ops, w->qkv);
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
