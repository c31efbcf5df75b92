/* Collectives inside a node beside times that others measured. Links were fitted to other tables. */
#include "platforms/profile.h"
#include "sim/collective/collective.h"
#include "tests/kit/testkit.h"

typedef struct {
    const char *platform;
    RhOp op;
    int32_t members;
    double mib, measured_s;
} Timed;

/* Checks times on idle links within a fifth; `profile` of links, or NULL. */
static void check_timed(const Timed *rows, size_t count, const char *profile)
{
    static const int32_t gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    g_autofree char *path = g_strdup_printf("%s/platforms/data/links/%s.json",
                                            g_getenv("REHEARSE_DATA"), profile ? profile : "");
    for (size_t i = 0; i < count; i++) {
        g_autoptr(RhPlatform) p = rh_platform_load(rows[i].platform, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_TRUE_FATAL(!profile || rh_platform_apply_profile(p, path, NULL));
        double bytes = rows[i].mib * 1024 * 1024;
        RhAlgo algo = rh_collective_choose(rows[i].op, rows[i].members, NULL, bytes, p, NULL);
        double s = rh_collective_alone_s(rows[i].op, algo, rows[i].members, gpus, bytes, p);
        RH_CHECK_CLOSE(s, rows[i].measured_s, 0.2);
    }
}

/* Gathers among four and eight GPUs.
 * Source: microsoft/apex_plus 8769096, profile/comm, all_gather.csv. */
static void gathers_take_as_long_as_apex_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_ALL_GATHER, 8, 128, 375e-6},
                                 {"dgx-h100", RH_OP_ALL_GATHER, 4, 128, 343e-6},
                                 {"dgx-h100", RH_OP_ALL_GATHER, 8, 16, 68e-6},
                                 {"dgx-h100", RH_OP_ALL_GATHER, 4, 16, 62e-6},
                                 {"dgx-h200", RH_OP_ALL_GATHER, 8, 128, 382e-6},
                                 {"dgx-h200", RH_OP_ALL_GATHER, 4, 128, 344e-6},
                                 {"dgx-h200", RH_OP_ALL_GATHER, 8, 16, 69e-6},
                                 {"dgx-h200", RH_OP_ALL_GATHER, 4, 16, 61e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

/* Sums of which each of four and eight GPUs gets its part.
 * Source: microsoft/apex_plus 8769096, profile/comm, reduce_scatter.csv. */
static void scatters_take_as_long_as_apex_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_REDUCE_SCATTER, 8, 128, 381e-6},
                                 {"dgx-h100", RH_OP_REDUCE_SCATTER, 4, 128, 355e-6},
                                 {"dgx-h100", RH_OP_REDUCE_SCATTER, 8, 16, 72e-6},
                                 {"dgx-h100", RH_OP_REDUCE_SCATTER, 4, 16, 60e-6},
                                 {"dgx-h200", RH_OP_REDUCE_SCATTER, 8, 128, 382e-6},
                                 {"dgx-h200", RH_OP_REDUCE_SCATTER, 4, 128, 353e-6},
                                 {"dgx-h200", RH_OP_REDUCE_SCATTER, 8, 16, 70e-6},
                                 {"dgx-h200", RH_OP_REDUCE_SCATTER, 4, 16, 58e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

/* Exchanges of every part among four and eight GPUs.
 * Source: microsoft/apex_plus 8769096, profile/comm, alltoall.csv. */
static void exchanges_take_as_long_as_apex_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_ALL_TO_ALL, 8, 128, 401e-6},
                                 {"dgx-h100", RH_OP_ALL_TO_ALL, 4, 128, 339e-6},
                                 {"dgx-h100", RH_OP_ALL_TO_ALL, 8, 16, 69e-6},
                                 {"dgx-h100", RH_OP_ALL_TO_ALL, 4, 16, 62e-6},
                                 {"dgx-h200", RH_OP_ALL_TO_ALL, 8, 128, 401e-6},
                                 {"dgx-h200", RH_OP_ALL_TO_ALL, 4, 128, 349e-6},
                                 {"dgx-h200", RH_OP_ALL_TO_ALL, 8, 16, 70e-6},
                                 {"dgx-h200", RH_OP_ALL_TO_ALL, 4, 16, 62e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

/* Sums by rings: of the H200s by NCCL's choice, of four H100s as well.
 * Source: microsoft/apex_plus 8769096, profile/comm, all_reduce.csv. */
static void sums_take_as_long_as_apex_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_ALL_REDUCE, 4, 128, 611e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 4, 16, 99e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 8, 16, 122e-6},
                                 {"dgx-h200", RH_OP_ALL_REDUCE, 8, 128, 710e-6},
                                 {"dgx-h200", RH_OP_ALL_REDUCE, 4, 128, 610e-6},
                                 {"dgx-h200", RH_OP_ALL_REDUCE, 8, 16, 123e-6},
                                 {"dgx-h200", RH_OP_ALL_REDUCE, 4, 16, 98e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

/* Sums by the switch (NVLS): many bytes among eight H100s take less than a ring's time. Source:
 * microsoft/apex_plus 8769096, all_reduce.csv; microsoft/vidur 7d47513,
 * network/h100_dgx/all_reduce.csv. */
static void switches_sum_as_fast_as_was_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_ALL_REDUCE, 8, 128, 597e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 8, 64, 322e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 8, 256, 1135e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), "dgx-h100-nccl-2.29.2");
}

/* Sums of 32 and 64 MiB among A100s.
 * Source: microsoft/vidur 7d47513, profiling/network/a100_dgx/all_reduce.csv, medians. */
static void sums_take_as_long_as_vidur_measured(void)
{
    static const Timed rows[] = {{"dgx-a100", RH_OP_ALL_REDUCE, 2, 64, 430e-6},
                                 {"dgx-a100", RH_OP_ALL_REDUCE, 4, 64, 603e-6},
                                 {"dgx-a100", RH_OP_ALL_REDUCE, 8, 64, 675e-6},
                                 {"dgx-a100", RH_OP_ALL_REDUCE, 2, 32, 247e-6},
                                 {"dgx-a100", RH_OP_ALL_REDUCE, 4, 32, 319e-6},
                                 {"dgx-a100", RH_OP_ALL_REDUCE, 8, 32, 411e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

/* Sums of 32 and 64 MiB among two and four H100s, and of 32 among eight.
 * Source: microsoft/vidur 7d47513, profiling/network/h100_dgx/all_reduce.csv, medians. */
static void sums_on_h100s_take_as_long_as_vidur_measured(void)
{
    static const Timed rows[] = {{"dgx-h100", RH_OP_ALL_REDUCE, 2, 64, 245e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 4, 64, 318e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 2, 32, 136e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 4, 32, 167e-6},
                                 {"dgx-h100", RH_OP_ALL_REDUCE, 8, 32, 196e-6}};
    check_timed(rows, G_N_ELEMENTS(rows), NULL);
}

int main(void)
{
    static const RhTest tests[] = {
        {"gathers_take_as_long_as_apex_measured", gathers_take_as_long_as_apex_measured},
        {"scatters_take_as_long_as_apex_measured", scatters_take_as_long_as_apex_measured},
        {"exchanges_take_as_long_as_apex_measured", exchanges_take_as_long_as_apex_measured},
        {"sums_take_as_long_as_apex_measured", sums_take_as_long_as_apex_measured},
        {"switches_sum_as_fast_as_was_measured", switches_sum_as_fast_as_was_measured},
        {"sums_on_h100s_take_as_long_as_vidur_measured",
         sums_on_h100s_take_as_long_as_vidur_measured},
        {"sums_take_as_long_as_vidur_measured", sums_take_as_long_as_vidur_measured},
        {0},
    };
    return rh_test_main("measured_collectives", tests);
}
