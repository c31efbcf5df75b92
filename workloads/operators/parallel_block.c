/* Attention and a feed-forward network side by side on one normed input (Wang and Komatsuzaki 2021,
 * github.com/kingoflolz/mesh-transformer-jax; PaLM, arXiv 2204.02311, section 2): one block, so one pair
 * of tensor-parallel collectives a layer. The two outputs are added on each rank before they are
 * reduced. */
#include <math.h>

#include "workloads/operators/operator.h"

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_attention.shape(c, kind);
    rh_ffn.shape(c, kind);
}

static RhParams params(const RhOps *ops)
{
    RhParams a = rh_attention.params(ops), f = rh_ffn.params(ops);
    return (RhParams){.sharded = a.sharded + f.sharded, .replicated = a.replicated + f.replicated};
}

static RhFlops flops(const RhOps *ops)
{
    RhFlops a = rh_attention.flops(ops), f = rh_ffn.flops(ops);
    return (RhFlops){.weights = a.weights + f.weights, .pairs = a.pairs};
}

static void kernels(RhOps *ops, RhPass pass)
{
    bool adds =
        rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL || pass == RH_PASS_BACKWARD_DATA;
    rh_attention.kernels(ops, pass);
    rh_ffn.kernels(ops, pass);
    if (adds) /* outputs are added forward, gradients of the input backward */
        rh_ops_stream(
            ops, RH_KERNEL_ADD,
            (2 * RH_READ + RH_WRITE) / 2 * ops->element_bytes * rh_ops_hidden_elements(ops), 1);
}

/* Bytes of both. The result of the first is held beside the other's working bytes. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    RhOperatorBytes a = rh_attention.bytes(ops), f = rh_ffn.bytes(ops);
    double result = ops->element_bytes * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = a.kept + f.kept,
                             .dropped = a.dropped + f.dropped,
                             .forward = result + fmax(a.forward, f.forward),
                             .backward = result + fmax(a.backward, f.backward)};
}

static RhCacheBytes cache(const RhOps *ops)
{
    return rh_attention.cache(ops);
}

/* Linear layers of both, which read one normed input. It is kept once, and counts as the first
 * one's where the network has no adapter. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    int first = rh_attention.linears(ops, list);
    int count = first + rh_ffn.linears(ops, list + first);
    if (rh_lora_adapts(&ops->shard->lora, list[first].name))
        list[0].kept = 0;
    list[first].kept = 0;
    return count;
}

const RhOperator rh_parallel = {.name = "attention and ffn",
                                .shape = shape,
                                .params = params,
                                .flops = flops,
                                .kernels = kernels,
                                .bytes = bytes,
                                .cache = cache,
                                .linears = linears,
                                .modules = RH_RECOMPUTE_CORE | RH_RECOMPUTE_FFN,
                                .key_heads = true};
