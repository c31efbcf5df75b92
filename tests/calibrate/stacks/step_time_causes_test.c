/* What one measured run tells: each cause that explains it makes the step take the measured time,
 * and the profile predicts that time. */
#include "calibrate/stacks/step_time_causes.h"

#include <string.h>

#include "base/error.h"
#include "platforms/profile.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/train_kit.h"

#define LAYOUT "tp2,pp2,mb1"

static TrainKit kit(void)
{
    return train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
}

static RhMeasuredRun explained(const TrainKit *k, double factor)
{
    RhLayout layout = train_layout(k, LAYOUT);
    RhMeasuredRun run = {0};
    g_autoptr(GError) error = NULL;
    double step_s = train_step_s(&k->c, &layout, false);
    RhMeasuredRunQuestion q = {
        .c = &k->c, .hardware = k->bare, .layout = &layout, .measured_s = step_s * factor};
    CU_ASSERT_TRUE(rh_measured_run_explain(&q, &run, &error));
    g_assert_no_error(error);
    return run;
}

/* The step with a cause at the value that explains the run. */
static double step_with(const TrainKit *k, RhMeasuredCause cause, double value)
{
    RhProblem c = k->c;
    RhStack stack = *c.stack;
    RhLayout layout = train_layout(k, LAYOUT);
    g_autoptr(RhPlatform) hardware = rh_platform_copy(k->bare);
    if (cause == RH_CAUSE_LINKS) {
        hardware->nvlink_bytes_per_s.value *= value;
        hardware->nic_bytes_per_s.value *= value;
    } else if (cause == RH_CAUSE_WAITING)
        rh_platform_gpu_slow(hardware, 0, value);
    else
        stack.kernel_gap_s.value = value;
    g_autoptr(RhPlatform) view = rh_stack_platform(&stack, hardware);
    c.platform = view;
    c.stack = &stack;
    return train_step_s(&c, &layout, false);
}

static void each_cause_that_explains_makes_the_measured_step(void)
{
    static const double factors[] = {1.3, 0.97};
    g_auto(TrainKit) k = kit();
    for (size_t i = 0; i < G_N_ELEMENTS(factors); i++) {
        RhMeasuredRun run = explained(&k, factors[i]);
        for (int cause = RH_CAUSE_LINKS; cause < RH_CAUSE_CAUSES; cause++) {
            const RhMeasuredCauseAnswer *c = &run.causes[cause];
            if (!c->explains || (cause == RH_CAUSE_WAITING && factors[i] < 1))
                continue;
            RH_CHECK_CLOSE(step_with(&k, (RhMeasuredCause)cause, c->value), run.measured_s, 1e-3);
            CU_ASSERT_TRUE(cause == RH_CAUSE_HOST ? (c->value > c->now) == (factors[i] > 1)
                                                  : (c->value < 1) == (factors[i] > 1));
        }
        CU_ASSERT_TRUE(run.causes[RH_CAUSE_KERNELS].explains);
        CU_ASSERT_TRUE(run.causes[RH_CAUSE_HOST].explains);
    }
}

/* What is quicker than any limit is explained by nothing, and has no profile. */
static void nothing_explains_the_impossible(void)
{
    g_auto(TrainKit) k = kit();
    RhMeasuredRun run = explained(&k, 0.2);
    for (int cause = 0; cause < RH_CAUSE_CAUSES; cause++) {
        CU_ASSERT_FALSE(run.causes[cause].explains);
        CU_ASSERT_TRUE(run.causes[cause].reached_s > run.measured_s);
    }
    CU_ASSERT_PTR_NULL(rh_measured_run_profile(&run, k.bare, "x", "2026-11"));
}

static void the_predicted_time_changes_nothing(void)
{
    g_auto(TrainKit) k = kit();
    RhMeasuredRun run = explained(&k, 1);
    RH_CHECK_CLOSE(run.causes[RH_CAUSE_KERNELS].value, 1, 1e-12);
    RH_CHECK_CLOSE(run.clock_frac, k.bare->device->curves.sustained_clock_frac.value, 1e-12);
}

/* The profile predicts the run; it says the run, and error bars know its stack and model. */
static void the_profile_predicts_the_run(void)
{
    g_auto(TrainKit) k = kit();
    RhMeasuredRun run = explained(&k, 1.25);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_measured_run_profile(&run, k.bare, "their.log", "2026-11");
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    g_autoptr(RhJson) doc = rh_json_parse("mine.json", text, strlen(text), &error);
    g_autoptr(RhPlatform) hardware = rh_platform_copy(k.bare);
    CU_ASSERT_TRUE(rh_platform_apply_profile_json(hardware, doc, &error));
    g_assert_no_error(error);
    RH_CHECK_CLOSE(hardware->scaled.residual_frac, 0.25, 1e-6); /* as printed */
    CU_ASSERT_STRING_EQUAL(hardware->scaled.stack, "megatron");
    g_autoptr(RhPlatform) view = rh_stack_platform(k.c.stack, hardware);
    RhProblem c = k.c;
    c.platform = view;
    RhLayout layout = train_layout(&k, LAYOUT);
    RH_CHECK_CLOSE(train_step_s(&c, &layout, false), run.measured_s, 1e-3);
}

/* With the run the error bar is that among runs of one job; of another model no narrower. */
static void error_bars_follow_the_run(void)
{
    g_auto(TrainKit) k = kit();
    RhLayout layout = train_layout(&k, LAYOUT);
    g_autoptr(RhRehearsal) bare = rh_rehearse_quick(&k.c, &layout);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bare->bar);
    k.platform->scaled = (RhScaledRun){"megatron", k.model->name, 0.25};
    g_autoptr(RhRehearsal) own = rh_rehearse_quick(&k.c, &layout);
    k.platform->scaled.model = "another";
    g_autoptr(RhRehearsal) other = rh_rehearse_quick(&k.c, &layout);
    CU_ASSERT_EQUAL(bare->scaling, RH_SCALING_NONE);
    CU_ASSERT_EQUAL(own->scaling, bare->bar->within_frac > 0 ? RH_SCALING_OWN : RH_SCALING_UNKNOWN);
    RH_CHECK_CLOSE(own->error_frac,
                   bare->bar->within_frac > 0 ? bare->bar->within_frac : bare->error_frac, 1e-9);
    CU_ASSERT_EQUAL(other->scaling, RH_SCALING_OTHER);
    RH_CHECK_CLOSE(other->error_frac, MAX(bare->error_frac, 0.25), 1e-9);
}

int main(void)
{
    return rh_test_main(
        "measured_run",
        (RhTest[]){{"each_cause_that_explains_makes_the_measured_step",
                    each_cause_that_explains_makes_the_measured_step},
                   {"nothing_explains_the_impossible", nothing_explains_the_impossible},
                   {"the_predicted_time_changes_nothing", the_predicted_time_changes_nothing},
                   {"the_profile_predicts_the_run", the_profile_predicts_the_run},
                   {"error_bars_follow_the_run", error_bars_follow_the_run},
                   {0}});
}
