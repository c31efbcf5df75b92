/* rh_device_parse: kernels on what it accepts take a finite time that `explain` sums up to. */
#include <math.h>

#include "fuzz/fuzzkit.h"
#include "platforms/devices/device.h"

static void check_kernel(const RhDevice *device, const RhKernel *kernel)
{
    double time_s = rh_kernel_time_s(device, kernel);
    FUZZ_CHECK(isfinite(time_s) && time_s >= 0);
    g_autoptr(RhCost) cost = rh_kernel_explain(device, kernel);
    FUZZ_CHECK(cost != NULL && fabs(cost->value_s - time_s) <= 1e-9 * time_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autoptr(RhDevice) device = doc ? rh_device_parse(doc, &error) : NULL;
    if (!device) {
        fuzz_check_error(&error);
        return 0;
    }
    RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                     .dtype = RH_DTYPE_BF16,
                     .batch = 1,
                     .m = 4096,
                     .n = 1000,
                     .k = 64,
                     .flops = 2.0 * 4096 * 1000 * 64,
                     .bytes = 1e7};
    check_kernel(device, &gemm);
    return 0;
}
