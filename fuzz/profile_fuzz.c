/* rh_platform_apply_profile_json: kernels on a platform with what it accepts take a finite time. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "platforms/profile.h"

static void check_kernels(const RhDevice *device)
{
    static const int64_t sizes[] = {1, 65, 1000, 1 << 30};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                         .dtype = RH_DTYPE_BF16,
                         .batch = 1,
                         .m = sizes[i],
                         .n = 1000,
                         .k = 64,
                         .flops = 2.0 * (double)sizes[i] * 1000 * 64,
                         .bytes = 1e7};
        RhKernel decode = {.cls = RH_KERNEL_ATTENTION,
                           .dtype = RH_DTYPE_BF16,
                           .heads = 8,
                           .kv_heads = 2,
                           .batch = 4,
                           .m = 1,
                           .n = sizes[i],
                           .k = 128};
        double gemm_s = rh_kernel_time_s(device, &gemm),
               decode_s = rh_kernel_time_s(device, &decode);
        FUZZ_CHECK(isfinite(gemm_s) && gemm_s >= 0 && isfinite(decode_s) && decode_s >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autoptr(RhPlatform) p = doc ? rh_platform_load("h200-sxm:1x1", NULL) : NULL;
    if (!doc || !rh_platform_apply_profile_json(p, doc, &error)) {
        fuzz_check_error(&error);
        return 0;
    }
    rh_device_use_surfaces(p->device, NULL);
    check_kernels(p->device);
    return 0;
}
