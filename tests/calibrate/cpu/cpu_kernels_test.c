/* Kernels on a processor: what runs, what it counts, what is refused; the device file of a host. */
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/cpu/cpu_kernels.h"
#include "calibrate/kernels/cpu_device_file.h"
#include "platforms/devices/device.h"
#include "tests/kit/testkit.h"

static RkSample product(RkClass cls, int64_t m, int64_t n, int64_t k)
{
    return (RkSample){.cls = cls, .dtype = RH_DTYPE_FP32, .batch = 2, .m = m, .n = n, .k = k};
}

static void operands_are_counted_by_hand(void)
{
    RkSample gemm = product(RK_GEMM, 2, 3, 5);
    CU_ASSERT_EQUAL(rk_cpu_bytes(&gemm), 4 * (10 + 15 + 6)); /* one of the batch at a time */
    RkSample copy = {.cls = RK_COPY_DEVICE, .bytes = 1234};
    CU_ASSERT_EQUAL(rk_cpu_bytes(&copy), 1234);
}

static void every_class_of_a_step_runs(void)
{
    RkError why;
    RkSample heads = {.cls = RK_ATTENTION,
                      .dtype = RH_DTYPE_FP32,
                      .causal = true,
                      .heads = 2,
                      .kv_heads = 2,
                      .batch = 1,
                      .m = 300,
                      .n = 300,
                      .k = 64};
    RkSample backward = heads, huge = product(RK_GEMM, 1 << 20, 1 << 20, 1 << 20),
             nothing = {.cls = RK_NORM};
    backward.cls = RK_ATTENTION_BACKWARD;
    RkSample samples[] = {product(RK_GEMM, 33, 65, 17),
                          product(RK_GEMM_NN, 33, 65, 17),
                          product(RK_GEMM_NT, 33, 65, 17),
                          heads,
                          backward,
                          {.cls = RK_OPTIMIZER, .bytes = 6e8}};
    RkCpu *cpu = rk_cpu_open(1, 1e6, &why);
    if (!cpu) {
        CU_ASSERT_PTR_NOT_NULL(
            strstr(why.text, "libopenblas0")); /* skipped: OpenBLAS is not here */
        return;
    }
    CU_ASSERT_TRUE(g_str_has_prefix(rk_cpu_library(cpu), "openblas"));
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++)
        CU_ASSERT_TRUE(rk_cpu_run(cpu, &samples[i]));
    CU_ASSERT_FALSE(rk_cpu_run(cpu, &huge));
    CU_ASSERT_FALSE(rk_cpu_run(cpu, &nothing));
    rk_cpu_close(cpu);
}

#define HEAD                                                                                       \
    "# rehearse.raw/1\n# device=A Processor\n# sms=2\n# hbm_bytes=8e9\n"                           \
    "# date=2026-11-30T00:00:00Z\nkernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,"     \
    "library,repetitions,seconds,low_s,high_s,sm_mhz,watts\n"
#define GEMM "gemm,fp32,1,512,512,512,0,0,0,3145728,268435456,openblas 1,9,2e-3,0,0,0,0\n"
#define COPY "copy_device,fp32,0,0,5e7,0,0,0,0,1e8,0,openblas 1,9,1e-2,0,0,0,0\n"

/* 268 million multiply-adds in 2 ms are 134 GFLOP/s, 100 MB in 10 ms are 10 GB/s. */
static void a_host_is_described_by_its_best_rates(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhRaw) raw = rh_raw_parse("host.raw.csv", HEAD GEMM COPY, NULL);
    g_autoptr(RhRaw) half = rh_raw_parse("half.raw.csv", HEAD GEMM, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
    CU_ASSERT_PTR_NOT_NULL_FATAL(half);
    g_autofree char *text = rh_host_device_text(raw, &error);
    g_assert_no_error(error);
    g_autofree char *folder = g_dir_make_tmp("host-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "host.json", NULL);
    CU_ASSERT_TRUE(g_file_set_contents(path, text, -1, NULL));
    g_autoptr(RhDevice) device = rh_device_load(path, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(device->sms_count, 2);
    RH_CHECK_CLOSE(device->peak_flops_per_s[RH_DTYPE_FP32].value, 134.2e9, 1e-3);
    RH_CHECK_CLOSE(device->hbm_bytes_per_s.value, 1e10, 1e-9);
    CU_ASSERT_PTR_NULL(rh_host_device_text(half, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "no rows of copy_device"));
    g_unlink(path);
    g_rmdir(folder);
}

int main(void)
{
    return rh_test_main(
        "processor",
        (RhTest[]){{"operands are counted by hand", operands_are_counted_by_hand},
                   {"every class of a step runs", every_class_of_a_step_runs},
                   {"a host is described by its best rates", a_host_is_described_by_its_best_rates},
                   {0}});
}
