#include "tests/kit/operators_kit.h"

RhModel *load(const char *name)
{
    RhModel *m = *name == '{' ? model_parse(name, NULL) : rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

const RhLayerKind *kind_for(const RhModel *m, RhBlock block)
{
    return block == RH_BLOCK_MIXER || block == RH_BLOCK_FFN ? &m->kinds[0] : NULL;
}

GArray *kernels_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind_for(m, block), block, RH_PART_SEQUENCE, pass, shard, out);
    rh_block_kernels(m, kind_for(m, block), block, RH_PART_TENSOR, pass, shard, out);
    return out;
}

Sum sum_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, block, pass, shard);
    Sum sum = {.kernels = kernels->len};
    for (guint i = 0; i < kernels->len; i++) {
        sum.flops += g_array_index(kernels, RhKernel, i).flops;
        sum.bytes += g_array_index(kernels, RhKernel, i).bytes;
    }
    return sum;
}

RhKernel attention_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, RH_BLOCK_MIXER, pass, shard);
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_ATTENTION)
            return g_array_index(kernels, RhKernel, i);
    CU_FAIL_FATAL("no attention");
    return (RhKernel){0};
}

double flops_of(const RhModel *m, int kind, RhPass pass, const RhShard *shard)
{
    return block_flops(m, &m->kinds[kind], RH_BLOCK_MIXER, pass, shard);
}
