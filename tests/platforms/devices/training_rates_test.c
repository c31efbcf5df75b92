/* Rates of the kernels that training runs where they are not those that serve: attention's curves in bf16
 * and fp8, and passes over memory, against times that others measured. */
#include "base/fact.h"
#include "platforms/devices/device.h"
#include "tests/kit/testkit.h"

static RhKernel causal(int64_t tokens, int64_t heads, int64_t head, bool backward, RhDtype dtype)
{
    double pairs = 0.5 * (double)tokens * (double)tokens;
    return (RhKernel){.cls = backward ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION,
                      .dtype = (uint8_t)dtype,
                      .causal = true,
                      .heads = (int32_t)heads,
                      .kv_heads = 8,
                      .batch = 1,
                      .m = tokens,
                      .n = tokens,
                      .k = head,
                      .flops =
                          (double)heads * pairs * rh_attention_pair_flops(head, head, backward)};
}

static double tflops(const RhDevice *d, const RhKernel *k)
{
    return k->flops / rh_kernel_time_s(d, k) / 1e12;
}

static RhDevice *at_full_clock(const char *name)
{
    RhDevice *d = rh_device_load(name, NULL);
    d->curves.sustained_clock_frac.value = 1;
    rh_device_use_training(d);
    return d;
}

/* cuDNN 9.13.1 in PyTorch's container of September 2025, 128 heads of 128 on 8 of keys, causal
 * (NVIDIA/cudnn-frontend 0b1577c8, benchmark/sdpa_benchmark_training/artifacts). */
static void attention_runs_as_nvidia_timed_it(void)
{
    static const struct {
        const char *device;
        int64_t tokens;
        bool backward;
        double bf16, fp8;
    } rows[] = {{"b200-sxm", 4096, false, 1141.140, 1230.650},
                {"b200-sxm", 8192, false, 1384.231, 1502.114},
                {"b200-sxm", 16384, false, 1475.253, 1692.390},
                {"b200-sxm", 8192, true, 994.850, 1254.687},
                {"b200-sxm", 16384, true, 1151.690, 1469.494},
                {"gb300", 8192, false, 1716.056, 2073.580},
                {"gb300", 16384, false, 1835.897, 2266.632},
                {"gb300", 8192, true, 1150.498, 1513.772},
                {"gb300", 16384, true, 1290.765, 1745.939}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhDevice) d = at_full_clock(rows[i].device);
        RhKernel bf16 = causal(rows[i].tokens, 128, 128, rows[i].backward, RH_DTYPE_BF16);
        RhKernel fp8 = causal(rows[i].tokens, 128, 128, rows[i].backward, RH_DTYPE_FP8);
        RH_CHECK_CLOSE(tflops(d, &bf16), rows[i].bf16, 0.06);
        RH_CHECK_CLOSE(tflops(d, &fp8), rows[i].fp8, 0.07);
    }
}

/* Heads of 192 and more run no faster than heads of 128; in serving, whose kernels are others, they do. */
static void large_heads_gain_nothing(void)
{
    g_autoptr(RhDevice) serving = rh_device_load("b200-sxm", NULL);
    g_autoptr(RhDevice) training = at_full_clock("b200-sxm");
    RhKernel small = causal(8192, 64, 128, false, RH_DTYPE_BF16);
    RhKernel large = causal(8192, 64, 192, false, RH_DTYPE_BF16);
    RH_CHECK_CLOSE(tflops(training, &large), tflops(training, &small), 1e-12);
    CU_ASSERT_TRUE(tflops(serving, &large) > 1.1 * tflops(serving, &small));
}

/* A device without such figures keeps its own, and so does one whose rate the user has set. */
static void other_rates_stay(void)
{
    g_autoptr(RhDevice) before = rh_device_load("h100-sxm", NULL);
    g_autoptr(RhDevice) after = rh_device_load("h100-sxm", NULL);
    rh_device_use_training(after);
    RhKernel k = causal(8192, 64, 128, true, RH_DTYPE_BF16);
    RhKernel norm = {.cls = RH_KERNEL_NORM, .bytes = 2e8};
    CU_ASSERT_EQUAL(rh_kernel_time_s(before, &k), rh_kernel_time_s(after, &k));
    CU_ASSERT_EQUAL(rh_kernel_time_s(before, &norm), rh_kernel_time_s(after, &norm));
    g_autoptr(RhDevice) set = rh_device_load("b200-sxm", NULL);
    set->curves.attention_peak_frac.source = RH_SOURCE_USER;
    set->curves.memory_peak_frac.source = RH_SOURCE_USER;
    rh_device_refresh(set);
    double own = rh_kernel_time_s(set, &k), passes = rh_kernel_time_s(set, &norm);
    rh_device_use_training(set);
    CU_ASSERT_EQUAL(rh_kernel_time_s(set, &k), own);
    CU_ASSERT_EQUAL(rh_kernel_time_s(set, &norm), passes);
}

/* cuDNN's RMSNorm of 16,384 x 4,096 and 8,192 x 8,192 in bf16 on a GB200: 42 and 45 us forward, 65 and 77
 * backward (NVIDIA/cudnn-frontend 3929da2e, benchmark/norms/results/gb200). */
static void norms_run_as_nvidia_timed_them(void)
{
    g_autoptr(RhDevice) d = at_full_clock("gb200");
    const double elements[] = {16384.0 * 4096, 8192.0 * 8192}, both_s[] = {107e-6, 122e-6};
    for (size_t i = 0; i < G_N_ELEMENTS(elements); i++) {
        RhKernel forward = {.cls = RH_KERNEL_NORM, .bytes = 4 * elements[i]};
        RhKernel backward = {.cls = RH_KERNEL_NORM, .bytes = 6 * elements[i]};
        RH_CHECK_CLOSE(rh_kernel_time_s(d, &forward) + rh_kernel_time_s(d, &backward), both_s[i],
                       0.18);
    }
    RhKernel other = {.cls = RH_KERNEL_EMBEDDING, .bytes = 4 * elements[0]};
    RhKernel cast = {.cls = RH_KERNEL_CAST, .bytes = 4 * elements[0]};
    CU_ASSERT_TRUE(rh_kernel_time_s(d, &cast) < rh_kernel_time_s(d, &other));
}

int main(void)
{
    return rh_test_main(
        "training_rates",
        (RhTest[]){{"attention_runs_as_nvidia_timed_it", attention_runs_as_nvidia_timed_it},
                   {"large_heads_gain_nothing", large_heads_gain_nothing},
                   {"other_rates_stay", other_rates_stay},
                   {"norms_run_as_nvidia_timed_them", norms_run_as_nvidia_timed_them},
                   {0}});
}
