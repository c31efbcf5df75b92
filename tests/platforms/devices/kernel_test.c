#include "platforms/devices/kernel.h"

#include <glib.h>

#include "tests/kit/testkit.h"

static void every_dtype_name_finds_its_dtype_again(void)
{
    for (int t = 1; t < RH_DTYPE_LAST; t++) {
        CU_ASSERT_EQUAL((int)rh_dtype_by_name(rh_dtype_name((RhDtype)t)), t);
        CU_ASSERT_TRUE(rh_dtype_bytes((RhDtype)t) >= 1);
    }
    CU_ASSERT_EQUAL(rh_dtype_by_name("int3"), RH_DTYPE_NONE);
    CU_ASSERT_EQUAL(rh_dtype_by_name("none"), RH_DTYPE_NONE);
    CU_ASSERT_EQUAL(rh_dtype_by_name(NULL), RH_DTYPE_NONE);
}

static void dtype_sizes_are_those_of_ieee_and_ocp(void)
{
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_FP32), 4);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_TF32), 4);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_FP16), 2);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_BF16), 2);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_FP8), 1);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_FP4), 1);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_NONE), 0);
}

static void every_class_name_finds_its_class_again(void)
{
    for (int c = 1; c < RH_KERNEL_LAST; c++) {
        const char *name = rh_kernel_class_name((RhKernelClass)c);
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        CU_ASSERT_EQUAL((int)rh_kernel_class_by_name(name), c);
    }
    CU_ASSERT_EQUAL(rh_kernel_class_by_name("gemmm"), RH_KERNEL_NONE);
}

static void count(const char *domain, GLogLevelFlags level, const char *text, void *user)
{
    (void)domain, (void)text;
    *(int *)user += (level & G_LOG_LEVEL_CRITICAL) != 0;
}

/* Names and numbers outside of the tables are unknown. */
static void what_is_no_dtype_and_no_class_is_told(void)
{
    int told = 0;
    GLogLevelFlags fatal = g_log_set_always_fatal(G_LOG_FATAL_MASK);
    GLogFunc before = g_log_set_default_handler(count, &told);
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_LAST), 0);
    CU_ASSERT_STRING_EQUAL(rh_dtype_name(RH_DTYPE_LAST), "none");
    CU_ASSERT_STRING_EQUAL(rh_kernel_class_name(RH_KERNEL_LAST), "none");
    g_log_set_default_handler(before, NULL);
    g_log_set_always_fatal(fatal);
    CU_ASSERT_EQUAL(told, 3);
}

int main(void)
{
    return rh_test_main(
        "kernel",
        (RhTest[]){
            {"every_dtype_name_finds_its_dtype_again", every_dtype_name_finds_its_dtype_again},
            {"dtype_sizes_are_those_of_ieee_and_ocp", dtype_sizes_are_those_of_ieee_and_ocp},
            {"every_class_name_finds_its_class_again", every_class_name_finds_its_class_again},
            {"what_is_no_dtype_and_no_class_is_told", what_is_no_dtype_and_no_class_is_told},
            {0},
        });
}
