#pragma once
/* A rank's share of a layer as stacks of today run it, and what its kernels do. */
#include "workloads/ops.h"

/* bf16, and every fused kernel that there is. */
static inline RhShard shard_of(int32_t tp, int64_t sequence, int64_t microbatch)
{
    return (RhShard){.tp = tp,
                     .sequence = sequence,
                     .microbatch = microbatch,
                     .dtype = RH_DTYPE_BF16,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true};
}

/* Of the part that tensor parallelism cuts; the caller unrefs. */
static inline GArray *block_kernels(const RhModel *m, const RhLayerKind *kind, RhBlock block,
                                    RhPass pass, const RhShard *shard)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind, block, RH_PART_TENSOR, pass, shard, out);
    return out;
}

static inline double kernels_flops(const GArray *kernels)
{
    double flops = 0;
    for (guint i = 0; i < kernels->len; i++)
        flops += g_array_index(kernels, RhKernel, i).flops;
    return flops;
}

static inline double block_flops(const RhModel *m, const RhLayerKind *kind, RhBlock block,
                                 RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, kind, block, pass, shard);
    return kernels_flops(kernels);
}
