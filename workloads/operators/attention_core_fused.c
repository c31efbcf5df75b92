/* The core of attention as one fused kernel, over a block of queries and keys. */
#include <math.h>

#include "workloads/operators/operator.h"

bool rh_core_is_narrow(const RhOps *ops, RhPass pass)
{
    return ops->shard->narrow_attention && rh_pass_trains(pass) && rh_ops_is_narrow(ops);
}

/* The core as one fused kernel. Forward reads queries, keys and values and writes the output;
 * backward reads these as well, and reads or writes the gradient of each. The statistics go from
 * one to the other. */
void rh_core_fused(RhOps *ops, const RhCore *core, RhPass pass, const RhCoreBlock *block)
{
    bool backward = pass == RH_PASS_BACKWARD_DATA;
    double tokens = (double)(ops->sequences * block->queries), heads = (double)core->heads;
    double own = heads * (double)(core->key + core->value);
    double others =
        (double)core->kv_heads * (double)(core->key + (core->values_in_keys ? 0 : core->value));
    double read = (double)(ops->sequences * block->rows) * others;
    bool cached = !rh_pass_trains(pass) && ops->shard->cache_bytes > 0;
    if (cached)
        read *= ops->shard->cache_bytes / ops->element_bytes;
    double touched = tokens * own + read;
    double statistics = rh_pass_trains(pass) ? RH_CORE_STATISTICS_BYTES * tokens * heads : 0;
    RhKernel kernel = {
        .cls = backward ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION,
        .dtype = (uint8_t)(rh_core_is_narrow(ops, pass) ? RH_DTYPE_FP8 : ops->shard->dtype),
        .causal = block->causal,
        .kv_dtype = cached && ops->shard->cache_bytes < 2 ? RH_DTYPE_FP8 : RH_DTYPE_NONE,
        .heads = (int32_t)core->heads,
        .kv_heads = (int32_t)core->kv_heads,
        .v_head = core->value == core->key ? 0 : (int32_t)core->value,
        .batch = ops->sequences,
        .m = block->queries,
        .n = block->keys,
        .k = core->key,
        .flops = (double)ops->sequences * heads * block->pairs *
                 rh_attention_pair_flops(core->key, core->value, backward),
        .bytes = ops->element_bytes * touched * (backward ? 2 : 1) + statistics};
    g_array_append_val(ops->out, kernel);
}

/* Rows of keys and values that a chunk of a prompt reads: its own, and those in the cache that it
 * may see. */
static int64_t rows_read(const RhOps *ops)
{
    return MIN(ops->keys, ops->queries + rh_ops_reach(ops));
}

RhCoreBlock rh_core_whole(const RhOps *ops)
{
    int64_t reach = rh_ops_reach(ops);
    return (RhCoreBlock){!ops->decoding && !ops->kind->bidirectional, ops->queries, reach,
                         ops->decoding ? reach : rows_read(ops), rh_ops_visible_pairs(ops)};
}

/* Divides the core by documents. Context ranks have two parts of every document
 * (attention_core_context.c), so each has a c-th of every square. */
void rh_core_part_by_documents(RhOps *ops)
{
    if (ops->shard->documents == NULL || ops->decoding)
        return;
    RhKernel *kernel = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    int64_t length = (int64_t)ceil(rh_documents_length(ops->shard->documents, ops->keys));
    double part = (double)length / (double)ops->keys;
    kernel->batch = MAX(ops->sequences * ops->keys / length, 1);
    kernel->m = MAX((int64_t)ceil(part * (double)kernel->m), 1);
    kernel->n = ops->shard->cp > 1 ? MAX((int64_t)ceil(part * (double)kernel->n), 1)
                                   : MIN(length, kernel->n);
}
