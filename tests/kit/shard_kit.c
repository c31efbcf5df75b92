#include "tests/kit/shard_kit.h"

RhShard shard_of(int32_t tp, int64_t sequence, int64_t microbatch)
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

GArray *block_kernels(const RhModel *m, const RhLayerKind *kind, RhBlock block, RhPass pass,
                      const RhShard *shard)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind, block, RH_PART_TENSOR, pass, shard, out);
    return out;
}

double kernels_flops(const GArray *kernels)
{
    double flops = 0;
    for (guint i = 0; i < kernels->len; i++)
        flops += g_array_index(kernels, RhKernel, i).flops;
    return flops;
}

double block_flops(const RhModel *m, const RhLayerKind *kind, RhBlock block, RhPass pass,
                   const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, kind, block, pass, shard);
    return kernels_flops(kernels);
}
