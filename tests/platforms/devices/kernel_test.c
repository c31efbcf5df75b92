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

/* Numbers outside of the tables have no name and no bytes. */
static void numbers_outside_of_the_tables_are_none(void)
{
    CU_ASSERT_EQUAL(rh_dtype_bytes(RH_DTYPE_LAST), 0);
    CU_ASSERT_STRING_EQUAL(rh_dtype_name(RH_DTYPE_LAST), "none");
    CU_ASSERT_STRING_EQUAL(rh_kernel_class_name(RH_KERNEL_LAST), "none");
}

/* Raw samples write '_' where JSON files write '-'. */
static void both_spellings_of_a_class_are_one(void)
{
    CU_ASSERT_EQUAL(rh_kernel_class_by_name("attention_backward"), RH_KERNEL_ATTENTION_BACKWARD);
    CU_ASSERT_EQUAL(rh_kernel_class_by_name("attention-backward"), RH_KERNEL_ATTENTION_BACKWARD);
    CU_ASSERT_EQUAL(rh_kernel_class_by_name("attention-back"), RH_KERNEL_NONE);
    CU_ASSERT_EQUAL(rh_kernel_class_by_name(NULL), RH_KERNEL_NONE);
}

int main(void)
{
    return rh_test_main(
        "kernel",
        (RhTest[]){
            {"every_dtype_name_finds_its_dtype_again", every_dtype_name_finds_its_dtype_again},
            {"dtype_sizes_are_those_of_ieee_and_ocp", dtype_sizes_are_those_of_ieee_and_ocp},
            {"every_class_name_finds_its_class_again", every_class_name_finds_its_class_again},
            {"numbers_outside_of_the_tables_are_none", numbers_outside_of_the_tables_are_none},
            {"both_spellings_of_a_class_are_one", both_spellings_of_a_class_are_one},
            {0},
        });
}
