/* The core of attention: softmax of queries by keys, times values. The matrices around it (one or
 * several, with or without latents) belong to the operators that use it. */

#include "workloads/operators/operator.h"

/* Bytes per score of mask, scale, softmax and dropout. Counted: the fused softmax reads scores and
 * mask and writes, and dropout reads, writes and writes its mask: 5 + 5. The other pass counts are
 * assumed: RhPasses. */
#define FUSED_SCORES (2 * (RH_READ + RH_WRITE + RH_MASK))
#define EAGER_STEPS  7

static RhStream scores_stream(const RhOps *ops)
{
    const RhPasses *passes = rh_ops_passes(ops);
    return (RhStream){.fused_forward = FUSED_SCORES,
                      .fused_backward = passes->softmax_backward_bytes.value,
                      .eager_forward = passes->eager_softmax_bytes.value,
                      .eager_backward = passes->eager_softmax_backward_bytes.value,
                      .eager_steps = EAGER_STEPS};
}

double rh_core_flops(const RhOps *ops, const RhCore *core, bool backward)
{
    return (double)ops->sequences * (double)core->heads * rh_ops_visible_pairs(ops) *
           rh_attention_pair_flops(core->key, core->value, backward);
}

/* --- Kernels --- */

/* Casts what a core in fp8 reads: queries, keys and values, or the output's gradient. Their largest
 * values are found first (Transformer Engine's Float8CurrentScaling); outputs are in 16 bits. */
static void narrow_operands(RhOps *ops, const RhCore *core, RhPass pass)
{
    double own = (double)core->heads * (double)(core->key);
    double others =
        (double)core->kv_heads * (double)(core->key + (core->values_in_keys ? 0 : core->value));
    double columns =
        pass == RH_PASS_BACKWARD_DATA ? (double)(core->heads * core->value) : own + others;
    if (rh_core_is_narrow(ops, pass))
        rh_ops_stream(ops, RH_KERNEL_CAST,
                      (2 * ops->element_bytes + 1) * (double)ops->tokens * columns, 1);
}

static void fused(RhOps *ops, const RhCore *core, RhPass pass)
{
    RhCoreBlock all = rh_core_whole(ops);
    narrow_operands(ops, core, pass);
    if (ops->shard->cp > 1 && rh_pass_trains(pass)) {
        rh_core_context_kernels(ops, core, pass);
        return;
    }
    rh_core_fused(ops, core, pass, &all);
    rh_core_part_by_documents(ops);
}

/* Keys of each query whose scores are in memory without fusion: all, whatever the mask, but of block-sparse
 * attention the blocks alone (Child et al. 2019, arXiv 1904.10509, section 5.4). */
static int64_t scored_keys(const RhOps *ops)
{
    return ops->kind->keys_in_blocks ? rh_ops_reach(ops) : ops->keys;
}

/* The core as several kernels. */
static void unfused(RhOps *ops, const RhCore *core, bool backward)
{
    int64_t queries = ops->queries, keys = scored_keys(ops), batch = ops->sequences * core->heads;
    double scores = (double)batch * (double)queries * (double)keys;
    RhStream stream = scores_stream(ops);
    if (backward) {
        rh_ops_gemm(ops, batch, queries, keys, core->value); /* d probabilities = d out x v' */
        rh_ops_gemm(ops, batch, keys, core->value, queries); /* d v = probabilities' x d out */
        rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &stream, scores, true);
        rh_ops_gemm(ops, batch, queries, core->key, keys); /* d q = d scores x k */
        rh_ops_gemm(ops, batch, keys, core->key, queries); /* d k = d scores' x q */
        return;
    }
    rh_ops_gemm(ops, batch, queries, keys, core->key);
    rh_ops_elementwise(ops, RH_KERNEL_SOFTMAX, &stream, scores, false);
    rh_ops_gemm(ops, batch, queries, core->value, keys);
}

void rh_core_kernels(RhOps *ops, const RhCore *core, RhPass pass)
{
    guint first = ops->out->len;
    if (ops->shard->flash || !rh_pass_trains(pass))
        fused(ops, core, pass);
    else
        unfused(ops, core, pass == RH_PASS_BACKWARD_DATA);
    rh_ops_mark_core(ops, first);
}

/* --- Bytes: Korthikanti et al. 2022 (arXiv 2205.05198), and fused attention --- */

/* Bytes kept without fusion: softmax output, dropout mask and dropout output, (2 e + 1) a score
 * (equation 2); without dropout the masked scores and the softmax output. */
double rh_core_kept_bytes(const RhOps *ops, const RhCore *core)
{
    double rows = (double)ops->tokens * (double)core->heads;
    if (ops->shard->flash)
        return RH_CORE_STATISTICS_BYTES * rows + rh_core_context_kept_bytes(ops, core);
    return rows * (double)scored_keys(ops) *
           (2 * ops->element_bytes + (ops->model->attention_dropout ? 1 : 0));
}

/* Working bytes of backward, at their peak: a GEMM's result beside operands that nothing keeps. */
double rh_core_backward_bytes(const RhOps *ops, const RhCore *core)
{
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double out = n * (double)(core->heads * core->value), rows = n * (double)core->heads;
    double d_qkv = n * (double)(core->heads * core->key) +
                   n * (double)(core->kv_heads * (core->key + core->value));
    double scores = ops->shard->flash ? 0 : 2 * rows * (double)scored_keys(ops);
    double into_core = e * (wide + out);
    double inside = e * (out + d_qkv + scores);
    double out_of_core = e * (d_qkv + wide) + rh_ops_gathered_bytes(ops);
    return MAX(into_core, MAX(inside, out_of_core));
}
