/* Rows of a measured GPU that a fit must not take for more than they are: stand-ins, launches, clocks. */
#include <string.h>

#include "tests/kit/raw_kit.h"
#include "tests/kit/testkit.h"

static bool has_note(const RhKernelsFit *fit, const char *text)
{
    for (guint i = 0; i < fit->notes->len; i++)
        if (strstr(g_ptr_array_index(fit->notes, i), text))
            return true;
    return false;
}

/* Replaces one text by another in a string. */
static void replace_text(GString *out, const char *from, const char *to)
{
    g_auto(GStrv) parts = g_strsplit(out->str, from, -1);
    g_autofree char *joined = g_strjoinv(to, parts);
    g_string_assign(out, joined);
}

/* Attention that the program itself computes is ten times as slow as cuDNN's: no constant may come
 * from it, and what no file tells of is named. */
static void attention_that_stands_in_is_not_fitted(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0);
    kit_streams(&kit);
    g_autoptr(GString) others = g_string_new(kit.text->str);
    g_string_truncate(kit.text, 0);
    kit_attentions(&kit, "attention", RH_KERNEL_ATTENTION);
    g_autoptr(GString) own = g_string_new(kit.text->str);
    replace_text(own, ",library,", ",own,");
    g_string_append(others, own->str);
    g_autoptr(RhKernelsFit) fit = kit_fit(others->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_PTR_NULL(kit_fact(fit, "device.attention"));
    CU_ASSERT_PTR_NOT_NULL(kit_fact(fit, "device.memory"));
    CU_ASSERT_TRUE(has_note(fit, "42 rows of attention by rehearse-kernels' own kernel"));
    CU_ASSERT_TRUE(has_note(fit, "no rows of GEMM"));
    CU_ASSERT_TRUE(has_note(fit, "no rows of attention:"));
    kit_raw_clear(&kit);
}

/* The host launches slower than the GPU ends empty kernels: the floor is the GPU's. */
static void the_floor_is_an_empty_kernel_between_events(void)
{
    static const char host[] = "launch_rate,none,0,0,0,0,0,0,0,0,0,cudart,9,3e-6,0,0,0,0\n",
                      gpu[] = "empty,none,0,0,0,0,0,0,0,0,0,cudart,9,1.6e-6,0,0,0,0\n";
    g_autoptr(RhDevice) truth = kit_device();
    for (int both = 0; both < 2; both++) {
        g_autofree char *text = g_strconcat(KIT_HEAD, host, both ? gpu : "", NULL);
        g_autoptr(RhKernelsFit) fit = kit_fit(text, truth, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
        CU_ASSERT_EQUAL(kit_fact(fit, "device.kernel_floor")->fact.value, both ? 1.6e-6 : 3e-6);
        CU_ASSERT_EQUAL(has_note(fit, "which may be the host's"), both == 0);
    }
}

/* Under a power limit a chip runs long products at 1,600 of 1,980 MHz. The constants are those of the
 * full clock, and the clock is a fact of its own: a product is predicted as it was measured. */
static void a_throttled_clock_counts_once(void)
{
    const double clock_frac = 1600.0 / 1980;
    g_autoptr(RhDevice) truth = kit_device();
    g_autoptr(RhDevice) throttled = rh_device_copy(truth);
    throttled->curves.sustained_clock_frac.value = clock_frac;
    rh_device_refresh(throttled);
    KitRaw kit = kit_raw(throttled, 0);
    kit_gemms(&kit, RH_DTYPE_BF16, 12, 9);
    g_string_append(kit.text,
                    "sustained_gemm,bf16,1,8192,8192,8192,0,0,0,4e8,1.1e12,cublasLt,9,2e-3,"
                    "0,0,0,0\n");
    replace_text(kit.text, "# sms=132\n", "# sms=132\n# clock_mhz_max=1980\n");
    replace_text(kit.text, ",0,0,0,0\n", ",0,0,1600,500\n");
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    const RhFittedFact *clock = kit_fact(fit, "device.sustained_clock"),
                       *peak = kit_fact(fit, "device.gemm.bf16");
    CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
    CU_ASSERT_PTR_NOT_NULL_FATAL(peak);
    RH_CHECK_CLOSE(clock->fact.value, clock_frac, 1e-9);
    RH_CHECK_CLOSE(peak->fact.value, truth->curves.gemm_peak_frac[RH_DTYPE_BF16].value, 0.03);
    RhKernel large = {.cls = RH_KERNEL_GEMM,
                      .dtype = RH_DTYPE_BF16,
                      .batch = 1,
                      .m = 8192,
                      .n = 8192,
                      .k = 8192,
                      .bytes = 6.0 * 8192 * 8192,
                      .flops = 2.0 * 8192 * 8192 * 8192};
    RH_CHECK_CLOSE(rh_kernel_time_s(fit->device, &large), rh_kernel_time_s(throttled, &large),
                   0.03);
    kit_raw_clear(&kit);
}

int main(void)
{
    return rh_test_main("measured_rows",
                        (RhTest[]){{"attention that stands in is not fitted",
                                    attention_that_stands_in_is_not_fitted},
                                   {"the floor is an empty kernel between events",
                                    the_floor_is_an_empty_kernel_between_events},
                                   {"a throttled clock counts once", a_throttled_clock_counts_once},
                                   {0}});
}
