/* The core of attention over a sequence that c ranks have: each has 1/c of its tokens, a half from
 * the front and one from the back, so that the causal mask gives all ranks equally many pairs.
 *
 * Heads (DeepSpeed Ulysses, Jacobs et al. 2023, arXiv 2309.14509): in an all-to-all every u ranks
 * exchange their tokens of all heads for all their tokens of 1/u of the heads, and back after the
 * core. Where there are fewer key-value heads than u, each is sent to several ranks.
 *
 * A ring (Liu et al. 2023, arXiv 2310.01889), or all-gathered keys and values (Llama 3, arXiv
 * 2407.21783, section 3.3.2), joins the r = c/u ranks that then have other tokens of the same
 * heads. Both at once: Fang & Zhao 2024, arXiv 2405.07719.
 *
 * Packed documents are each divided in this way (Transformer Engine's thd format): ranks have a
 * half from the front and one from the back of each document, and all equally many pairs, whatever
 * the lengths. */
#include "workloads/operators/operator.h"

/* The core as a rank sees it after the exchange of heads: u times the tokens, 1/u of the heads. */
typedef struct {
    RhShard shard;
    RhOps ops;
    RhCore core;
} Inside;

static int32_t heads_over(const RhOps *ops)
{
    return MAX(ops->shard->ulysses, 1);
}

static void go_inside(const RhOps *ops, const RhCore *core, Inside *in)
{
    int32_t u = heads_over(ops);
    in->shard = *ops->shard;
    in->shard.cp /= u;
    in->shard.ulysses = 1;
    in->ops = *ops;
    in->ops.shard = &in->shard;
    in->ops.queries *= u;
    in->ops.tokens *= u;
    in->core = *core;
    in->core.heads /= u;
    in->core.kv_heads = MAX(core->kv_heads / u, 1);
}

/* Bytes of keys and values of the rank's tokens, which the queries of other ranks need. */
static double context_bytes(const RhOps *ops, const RhCore *core)
{
    int64_t columns = core->key + (core->values_in_keys ? 0 : core->value);
    return ops->element_bytes * (double)ops->tokens * (double)(core->kv_heads * columns);
}

static double result_bytes(const RhOps *ops, const RhCore *core)
{
    return ops->element_bytes * (double)ops->tokens * (double)(core->heads * core->value);
}

static double operands_bytes(const RhOps *ops, const RhCore *core)
{
    return ops->element_bytes * (double)ops->tokens * (double)(core->heads * core->key) +
           context_bytes(ops, core);
}

static void copy(RhOps *ops, double bytes)
{
    rh_ops_stream(ops, RH_KERNEL_ADD, 2 * bytes, 1); /* read, write */
}

/* --- Kernels --- */

/* Exchanges heads for tokens: packs by destination rank, and puts in order on arrival. */
static void exchange_heads(RhOps *ops, double bytes)
{
    copy(ops, bytes);
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_HEADS, .bytes = bytes});
    copy(ops, bytes);
}

static void core_block(RhOps *ops, const RhCore *core, RhPass pass, const RhCoreBlock *of)
{
    rh_core_fused(ops, core, pass, of);
    rh_core_part_by_documents(ops);
}

/* Kernels of a ring of r blocks: first the rank's own tokens under the causal mask; then, of every
 * other rank's, the half that it may see (all queries on the front half of the keys, or the back
 * half of the queries on all: equally many pairs; without a mask all of them), each merged into the
 * sum so far: read two results, write one. Keys and values travel; backward, their gradients
 * too. */
static void ring_kernels(RhOps *ops, const RhCore *core, RhPass pass)
{
    bool whole = ops->kind->bidirectional;
    int64_t own = ops->queries, seen = whole ? own : own / 2;
    bool parted = ops->shard->documents != NULL;
    double pairs = parted ? rh_ops_visible_pairs(ops) / ops->shard->cp
                          : (whole ? 1 : 0.5) * (double)own * (double)own;
    double travels = context_bytes(ops, core) * (pass == RH_PASS_BACKWARD_DATA ? 2 : 1);
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_RING, .bytes = travels});
    core_block(ops, core, pass, &(RhCoreBlock){!whole, own, own, own, pairs});
    for (int32_t step = 1; step < ops->shard->cp; step++) {
        rh_ops_exchange(ops,
                        (RhExchange){.kind = RH_EXCHANGE_RING, .step = step, .bytes = travels});
        core_block(ops, core, pass, &(RhCoreBlock){false, own, seen, seen, pairs});
        rh_ops_stream(ops, RH_KERNEL_ADD, 3 * result_bytes(ops, core), 1);
    }
    rh_ops_exchange(ops, (RhExchange){0});
}

/* Adds partial results of a block, in elements, to sums in fp32: reads both, writes the sum. */
static void add_wide(RhOps *ops, double elements)
{
    rh_ops_stream(ops, RH_KERNEL_ADD, (ops->element_bytes + 2 * RH_FP32) * elements, 1);
}

/* Kernels of PyTorch's ring, as its compiler traces them: a traced collective is waited for at
 * once. Keys and values, repeated for all heads, are packed and gathered before the first block;
 * each block's results are merged in fp32. Backward, after each block, the last one too, the sums
 * of keys' and values' gradients so far go to the next rank, in fp32. */
static void ring_of_gathered_heads(RhOps *ops, const RhCore *core, RhPass pass)
{
    bool whole = ops->kind->bidirectional, back = pass == RH_PASS_BACKWARD_DATA;
    int64_t own = ops->queries, seen = whole ? own : own / 2;
    int32_t ranks = ops->shard->cp;
    double pairs = ops->shard->documents != NULL ? rh_ops_visible_pairs(ops) / ranks
                                                 : (whole ? 1 : 0.5) * (double)own * (double)own;
    double heads = (double)ops->tokens * (double)core->heads;
    double queries = heads * (double)core->key, results = heads * (double)core->value;
    double others = queries + results; /* keys and values, repeated for all heads */
    copy(ops, ops->element_bytes * others);
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_GATHER,
                                      .bytes = ranks * ops->element_bytes * others});
    for (int32_t step = 0; step < ranks; step++) {
        bool first = step == 0;
        int64_t keys = first ? own : seen;
        core_block(ops, core, pass, &(RhCoreBlock){first && !whole, own, keys, keys, pairs});
        if (back)
            add_wide(ops, queries + others);
        else if (!first)
            add_wide(ops, results);
        if (back)
            rh_ops_exchange(
                ops,
                (RhExchange){.kind = RH_EXCHANGE_SHIFT, .step = step, .bytes = RH_FP32 * others});
    }
}

/* Kernels over gathered keys: both halves of the queries, each on all keys up to its own: for the
 * mean rank s (r+1)/(4r) and s (3r+1)/(4r) keys, and equally many pairs on every rank, a quarter of
 * them for the front half. */
static void over_gathered(RhOps *ops, const RhCore *core, RhPass pass)
{
    int64_t r = ops->shard->cp, s = ops->keys, half = ops->queries / 2;
    double pairs = rh_ops_visible_pairs(ops), front = pairs / 4;
    if (ops->kind->bidirectional) {
        core_block(ops, core, pass, &(RhCoreBlock){false, ops->queries, s, s, pairs});
        return;
    }
    for (int64_t back = 0; back < 2; back++) {
        int64_t keys = s * ((back ? 3 : 1) * r + 1) / (4 * r);
        core_block(ops, core, pass,
                   &(RhCoreBlock){true, half, keys, keys, back ? pairs - front : front});
    }
}

/* Gathers keys and values before either pass and puts them in order; backward, puts their gradients
 * in order and sums them to the owners of the tokens. */
static void gather(RhOps *ops, const RhCore *core, RhPass pass)
{
    double all = ops->shard->cp * context_bytes(ops, core);
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_GATHER, .bytes = all});
    copy(ops, all);
    over_gathered(ops, core, pass);
    if (pass == RH_PASS_BACKWARD_DATA) {
        copy(ops, all);
        rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_SUM, .bytes = all});
    }
}

static void inside(RhOps *ops, const RhCore *core, RhPass pass)
{
    RhCoreBlock all = rh_core_whole(ops);
    if (ops->shard->cp == 1)
        core_block(ops, core, pass, &all);
    else if (ops->shard->kv == RH_CONTEXT_GATHER)
        gather(ops, core, pass);
    else
        (ops->shard->gathers_heads ? ring_of_gathered_heads : ring_kernels)(ops, core, pass);
}

/* Kernels of both passes, with the exchange of heads around the core: queries, keys and values in,
 * the output back; backward its gradient in, theirs back. */
void rh_core_context_kernels(RhOps *ops, const RhCore *core, RhPass pass)
{
    Inside in;
    go_inside(ops, core, &in);
    double first = operands_bytes(&in.ops, &in.core), last = result_bytes(&in.ops, &in.core);
    bool backward = pass == RH_PASS_BACKWARD_DATA, heads = heads_over(ops) > 1;
    if (heads)
        exchange_heads(ops, backward ? last : first);
    inside(&in.ops, &in.core, pass);
    if (heads)
        exchange_heads(ops, backward ? first : last);
}

/* --- Bytes --- */

/* Bytes kept: queries, keys and values after the exchange of heads, not before it; and the output
 * before its exchange, which the core's own backward needs. */
double rh_core_context_kept_bytes(const RhOps *ops, const RhCore *core)
{
    if (ops->shard->cp <= 1 || heads_over(ops) == 1)
        return 0;
    Inside in;
    go_inside(ops, core, &in);
    return result_bytes(ops, core) + context_bytes(&in.ops, &in.core) - context_bytes(ops, core);
}

/* Working bytes of PyTorch's ring: all gathered keys and values, and the rank's own, packed;
 * backward, gradients in fp32 as they arrive and as they are passed on. */
static double gathered_heads_bytes(const RhOps *ops, const RhCore *core, bool backward)
{
    double elements = (double)ops->tokens * (double)core->heads * (double)(core->key + core->value);
    return (ops->element_bytes * (ops->shard->cp + 1) + (backward ? 2 * RH_FP32 : 0)) * elements;
}

/* Working bytes of context parallelism. Exchange of heads: packed and received buffers. Ring: the
 * current block and the next one, backward with their gradients. Gathered keys and values: as
 * received and in order; backward their gradients instead of the former. */
double rh_core_context_bytes(const RhOps *ops, const RhCore *core, bool backward)
{
    if (ops->shard->cp <= 1)
        return 0;
    Inside in;
    go_inside(ops, core, &in);
    double block = context_bytes(&in.ops, &in.core), r = in.shard.cp;
    double heads = heads_over(ops) > 1 ? 2 * operands_bytes(&in.ops, &in.core) : 0;
    double others = in.shard.kv == RH_CONTEXT_GATHER ? 2 * r * block
                    : in.shard.gathers_heads ? gathered_heads_bytes(&in.ops, &in.core, backward)
                                             : (backward ? 4 : 2) * block;
    return heads + (r > 1 ? others : 0);
}
