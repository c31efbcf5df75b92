/* The order-statistic correction of folded runs, against seeds of the unfolded run, over cuts that
 * synchronise in different places. */
#include "tests/kit/engine_kit.h"

#include "sim/engine/jitter_expected_delay.h"
#include "tests/kit/train_kit.h"

#define JITTER_FRAC 0.2

/* Mean and variance of the largest of n standard normals. Source: Harter 1961, tables of
 * expected order statistics. */
static void the_largest_of_normals_has_its_moments(void)
{
    RH_CHECK_CLOSE(rh_jitter_expected_max(1), 0, 1e-9);
    RH_CHECK_CLOSE(rh_jitter_expected_max(2), 0.5641896, 1e-5); /* 1 / sqrt(pi) */
    RH_CHECK_CLOSE(rh_jitter_expected_max(8), 1.4236003, 1e-5);
    RH_CHECK_CLOSE(rh_jitter_expected_max(100), 2.5075937, 1e-5);
    RH_CHECK_CLOSE(rh_jitter_variance_of_max(1), 1, 1e-9);
    RH_CHECK_CLOSE(rh_jitter_variance_of_max(2), 0.6816901, 1e-5); /* 1 - 1 / pi */
    RH_CHECK_CLOSE(rh_jitter_variance_of_max(8), 0.3728971, 1e-4);
}

/* How much later than t_s a kernel starts that waits for two which took so long: the one on its own lane, and one
 * beside. */
static double late_behind_s(double lane_s, double beside_s, double t_s)
{
    g_autoptr(RhProgram) p = rh_program_new(1);
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:1x1");
    rh_program_begin_role(p, "one", 0, NULL, 0);
    int32_t beside = kit_wait(p, beside_s, NULL, 0), lane = kit_wait(p, lane_s, NULL, 0);
    g_array_index(p->tasks, RhTask, beside).lane = RH_LANE_DP;
    int32_t last = kit_wait(p, 1, &beside, 1);
    kit_wait(p, 1, &last, 1);
    rh_program_end_role(p);
    RhRoleTable *tables = rh_role_tables_new(p, platform);
    RhJitter *j = rh_jitter_new(p, tables, JITTER_FRAC, 1);
    CU_ASSERT_EQUAL(rh_jitter_late_s(j, 0, 0, beside, 0), 0);
    CU_ASSERT_EQUAL(rh_jitter_late_s(j, 0, 0, lane, 0), 0);
    rh_jitter_end(j, 0, 0, beside, beside_s);
    rh_jitter_end(j, 0, 0, lane, lane_s);
    double late_s = rh_jitter_late_s(j, 0, 0, last, t_s);
    rh_jitter_free(j);
    rh_role_tables_free(tables, 1);
    return late_s;
}

/* Means and variances of the largest of 3 to 10 standard normals.
 * Source: Sarhan and Greenberg 1962, tables of moments of normal order statistics. */
static void the_largest_of_few_normals_are_those_of_tables(void)
{
    static const double means[] = {0.8462844, 1.0293754, 1.1629645, 1.2672064,
                                   1.3521784, 1.4236003, 1.4850132, 1.5387527};
    static const double variances[] = {0.5594672, 0.4917152, 0.4475341, 0.4159271,
                                       0.3919178, 0.3728971, 0.3573533, 0.3443438};
    for (int32_t n = 3; n <= 10; n++) {
        RH_CHECK_CLOSE(rh_jitter_expected_max(n), means[n - 3], 1e-5);
        RH_CHECK_CLOSE(rh_jitter_variance_of_max(n), variances[n - 3], 1e-4);
    }
}

/* E[max(X, Y)] of two normals is theta p(alpha) - gap Q(alpha) above the larger mean, with the gap of the means,
 * alpha = gap / theta and theta^2 the variance of X - Y (Clark 1961): of a rank's own kernels the difference of their
 * variances, as what is in both counts as common.
 * Source: Clark 1961, equation of the greatest of two. */
static void who_waits_for_two_waits_for_the_later(void)
{
    double theta_s = JITTER_FRAC * sqrt(1.1 * 1.1 - 1), alpha = 0.1 / theta_s;
    double above_s =
        theta_s * exp(-alpha * alpha / 2) / sqrt(2 * G_PI) - 0.1 * erfc(alpha / sqrt(2)) / 2;
    RH_CHECK_CLOSE(late_behind_s(1, 1.1, 1.1), above_s, 1e-9);
    RH_CHECK_CLOSE(late_behind_s(1.1, 1, 1.1), above_s, 1e-9);
    CU_ASSERT_EQUAL(late_behind_s(1, 9, 9), 0); /* the other is never the later */
    CU_ASSERT_EQUAL(late_behind_s(9, 1, 9), 0);
}

typedef struct {
    const char *model, *platform;
    int64_t global_batch, sequence;
    const char *layout;
} Cut;

static double mean_of_seeds_s(const RhProgram *p, const RhPlatform *platform, double jitter_frac)
{
    double sum_s = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        RhEngineOptions options = {.unfolded = true, .jitter_frac = jitter_frac, .seed = seed};
        sum_s += kit_time_s(p, platform, options);
    }
    return sum_s / 20;
}

static void check_cut(const Cut *cut, double jitter_frac, double tolerance_frac)
{
    g_auto(TrainKit) k =
        train_kit(cut->model, cut->platform, "megatron", cut->global_batch, cut->sequence);
    train_kit_runs_all(&k);
    RhLayout layout = train_layout(&k, cut->layout);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &layout, &error);
    g_assert_no_error(error);
    RhEngineOptions options = {.jitter_frac = jitter_frac};
    g_autoptr(RhRun) run = kit_run(p, k.platform, options);
    double plain_s = run->step_time_s - run->jitter_correction_s;
    double mean_s = mean_of_seeds_s(p, k.platform, jitter_frac);
    bool near = rh_test_close(run->step_time_s, mean_s, tolerance_frac);
    if (!near || g_getenv("RH_JITTER_TABLE"))
        fprintf(stderr, "    %s %s %s: plain %.6f, mean of seeds %.6f, corrected %+.2f %%\n",
                cut->model, cut->platform, cut->layout, plain_s, mean_s,
                100 * (run->step_time_s / mean_s - 1));
    CU_ASSERT_TRUE(near);
}

static void check_cuts(const Cut *cuts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_cut(&cuts[i], 0.05, 0.015);
}

/* Gradients are reduced on a lane of their own: no kernel before the optimizer waits. */
static void reductions_that_nobody_waits_for_absorb_the_skew(void)
{
    static const Cut cuts[] = {
        {"llama-3.1-8b", "dgx-h100:8", 256, 1024, "tp1,pp2,zero2"},
        {"llama-3.1-8b", "dgx-h100:8", 256, 2048, "tp1,pp4,zero2"},
        {"llama-3.1-8b", "dgx-h100:8", 256, 1024, "tp1,pp1,zero2"},
        {"llama-3.1-8b", "dgx-h100:4", 128, 2048, "tp1,pp4,zero2"},
        {"llama-3.1-8b", "dgx-h100:2", 64, 1024, "tp1,pp2,zero2"},
        {"llama-3.1-8b", "dgx-h100:1", 64, 2048, "tp1,pp1,zero2"},
    };
    check_cuts(cuts, G_N_ELEMENTS(cuts));
}

static void every_degree_of_zero_is_near(void)
{
    static const Cut cuts[] = {
        {"llama-3.1-8b", "dgx-h100:4", 64, 1024, "tp1,pp1,zero0"},
        {"llama-3.1-8b", "dgx-h100:8", 128, 1024, "tp1,pp1,zero1"},
        {"llama-3.2-1b", "dgx-h100:4", 64, 1024, "tp1,pp1,zero3"},
        {"llama-3.2-1b", "dgx-h100:2", 64, 2048, "tp1,pp1,zero3"}, /* gathers ahead of kernels */
        {"llama-3.1-8b", "dgx-h100:1", 64, 2048, "tp1,pp1,zero3"},
        {"llama-3.1-8b", "dgx-h100:8", 128, 2048, "tp1,pp4,zero3"},
        {"llama-3.1-8b", "dgx-h100:8", 128, 1024, "tp2,pp2,zero2"},
    };
    check_cuts(cuts, G_N_ELEMENTS(cuts));
}

static void shards_that_meet_at_every_kernel_are_near(void)
{
    static const Cut cuts[] = {
        {"llama-3.1-8b", "dgx-h100:8", 64, 1024, "tp8,pp1,zero1"},
        {"llama-3.1-8b", "dgx-h100:8", 64, 1024, "tp4,pp4,zero0"},
        {"llama-3.1-8b", "dgx-h100:8", 64, 1024, "tp8,pp2,zero1,sp=off"},
        {"llama-3.1-8b", "dgx-h100:1", 16, 1024, "tp2,pp2,zero1"},
    };
    check_cuts(cuts, G_N_ELEMENTS(cuts));
}

static void every_schedule_is_near(void)
{
    static const Cut cuts[] = {
        {"llama-3.1-8b", "dgx-h100:8", 128, 2048, "tp1,pp4,schedule=gpipe,zero1"},
        {"llama-3.1-8b", "dgx-h100:4", 64, 2048, "tp2,pp4,schedule=gpipe,zero0"},
        {"llama-3.1-8b", "dgx-h100:8", 128, 2048, "tp1,pp4,schedule=interleaved,vpp2,zero1"},
        {"llama-3.1-8b", "dgx-h100:4", 64, 2048, "tp2,pp4,schedule=interleaved,vpp4,zero0"},
        {"llama-3.1-8b", "dgx-h100:8", 64, 1024, "tp2,pp32,zero1"},
    };
    check_cuts(cuts, G_N_ELEMENTS(cuts));
}

static void strong_jitter_is_near(void)
{
    static const Cut cuts[] = {
        {"llama-3.2-1b", "dgx-h100:2", 64, 2048, "tp1,pp1,zero3"},
        {"llama-3.1-8b", "dgx-h100:4", 64, 1024, "tp2,pp2,zero2"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++)
        check_cut(&cuts[i], 0.2, 0.03);
}

int main(void)
{
    return rh_test_main(
        "jitter",
        (RhTest[]){
            {"the_largest_of_normals_has_its_moments", the_largest_of_normals_has_its_moments},
            {"the_largest_of_few_normals_are_those_of_tables",
             the_largest_of_few_normals_are_those_of_tables},
            {"who_waits_for_two_waits_for_the_later", who_waits_for_two_waits_for_the_later},
            {"reductions_that_nobody_waits_for_absorb_the_skew",
             reductions_that_nobody_waits_for_absorb_the_skew},
            {"every_degree_of_zero_is_near", every_degree_of_zero_is_near},
            {"shards_that_meet_at_every_kernel_are_near",
             shards_that_meet_at_every_kernel_are_near},
            {"every_schedule_is_near", every_schedule_is_near},
            {"strong_jitter_is_near", strong_jitter_is_near},
            {0}});
}
