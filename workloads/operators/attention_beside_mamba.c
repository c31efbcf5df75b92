/* Attention and Mamba-2 side by side on one normed input, their outputs added (Falcon-H1, arXiv
 * 2507.22448, section 2; Hymba, arXiv 2411.13676): one block, so one pair of tensor-parallel collectives.
 * A layer's heads are attention's; the scan's figures stand beside them. */
#include <math.h>

#include "workloads/operators/operator.h"

/* The layer's kind as the scan sees it: with the scan's heads in place of attention's. */
static RhLayerKind scan_kind(const RhLayerKind *kind)
{
    RhLayerKind own = *kind;
    own.heads = kind->beside.heads;
    own.kv_heads = kind->beside.groups;
    own.head_size = kind->beside.head_size;
    own.window_tokens = kind->beside.chunk;
    own.qkv_bias = own.o_bias = kind->beside.bias;
    return own;
}

static RhOps scan_ops(const RhOps *ops, const RhLayerKind *kind)
{
    RhOps own = *ops;
    own.kind = kind;
    return own;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    RhLayerKind scan = {0};
    rh_mamba.shape(c, &scan);
    kind->beside.heads = scan.heads;
    kind->beside.groups = scan.kv_heads;
    kind->beside.head_size = scan.head_size;
    kind->beside.chunk = scan.window_tokens;
    kind->beside.bias = scan.qkv_bias;
    kind->state_size = scan.state_size;
    kind->conv_kernel = scan.conv_kernel;
    kind->conv_bias = scan.conv_bias;
    rh_attention.shape(c, kind);
}

static RhParams params(const RhOps *ops)
{
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    RhParams a = rh_attention.params(ops), s = rh_mamba.params(&scan);
    return (RhParams){.sharded = a.sharded + s.sharded, .replicated = a.replicated + s.replicated};
}

static RhFlops flops(const RhOps *ops)
{
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    RhFlops a = rh_attention.flops(ops), s = rh_mamba.flops(&scan);
    return (RhFlops){.weights = a.weights + s.weights, .pairs = a.pairs + s.pairs};
}

static void kernels(RhOps *ops, RhPass pass)
{
    bool adds =
        rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL || pass == RH_PASS_BACKWARD_DATA;
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    rh_attention.kernels(ops, pass);
    rh_mamba.kernels(&scan, pass);
    if (adds) /* outputs are added forward, gradients of the input backward */
        rh_ops_stream(
            ops, RH_KERNEL_ADD,
            (2 * RH_READ + RH_WRITE) / 2 * ops->element_bytes * rh_ops_hidden_elements(ops), 1);
}

/* Bytes of both mixers. The result of the first is held beside the other's working bytes. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    RhOperatorBytes a = rh_attention.bytes(ops), s = rh_mamba.bytes(&scan);
    double result = ops->element_bytes * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = a.kept + s.kept,
                             .dropped = a.dropped + s.dropped,
                             .forward = result + fmax(a.forward, s.forward),
                             .backward = result + fmax(a.backward, s.backward)};
}

/* Cache: keys and values of each token, and a state of each sequence. */
static RhCacheBytes cache(const RhOps *ops)
{
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    RhCacheBytes a = rh_attention.cache(ops), s = rh_mamba.cache(&scan);
    return (RhCacheBytes){.token = a.token + s.token, .sequence = a.sequence + s.sequence};
}

/* Linear layers of both, which read one normed input, as in parallel_block.c. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    RhLayerKind kind = scan_kind(ops->kind);
    RhOps scan = scan_ops(ops, &kind);
    int first = rh_attention.linears(ops, list);
    int count = first + rh_mamba.linears(&scan, list + first);
    if (rh_lora_adapts(&ops->shard->lora, list[first].name))
        list[0].kept = 0;
    list[first].kept = 0;
    return count;
}

const RhOperator rh_attention_beside_mamba = {.name = "attention and mamba",
                                              .shape = shape,
                                              .params = params,
                                              .flops = flops,
                                              .kernels = kernels,
                                              .bytes = bytes,
                                              .cache = cache,
                                              .linears = linears,
                                              .modules = RH_RECOMPUTE_CORE,
                                              .key_heads = true};
