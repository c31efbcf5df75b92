#include "calibrate/cuda/row_block.h"

static bool dtype_fits(const RkGpu *gpu, RhDtype dtype, RkError *why)
{
    if (dtype == RH_DTYPE_FP8)
        return rk_fail(why, "own kernels know no fp8");
    if (dtype == RH_DTYPE_BF16 && gpu->sm < 80)
        return rk_fail(why, "bf16 needs sm_80, this is sm_%d", gpu->sm);
    return true;
}

bool rk_rows_fit(RkGpu *gpu, RkCase *c, RkError *why)
{
    if (c->sample.n % 8 != 0 || c->sample.m > INT32_MAX)
        return rk_fail(why, "rows of %lld columns are not whole packs of 8",
                       (long long)c->sample.n);
    return dtype_fits(gpu, c->sample.dtype, why);
}

bool rk_heads_fit(RkGpu *gpu, RkCase *c, RkError *why)
{
    if (c->sample.k % 16 != 0)
        return rk_fail(why, "a head size of %lld is no multiple of 16", (long long)c->sample.k);
    return dtype_fits(gpu, c->sample.dtype, why);
}
