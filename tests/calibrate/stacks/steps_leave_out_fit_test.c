/* Constants without some rows: these rows have no part in them, and the others determine them as a fit
 * of the others alone does. */
#include <math.h>
#include <string.h>

#include "calibrate/stacks/steps_leave_out_fit.h"
#include "tests/kit/testkit.h"

#define HEAD                                                                                       \
    RH_STEPS_FIRST_LINE                                                                            \
    "\n# source.one=synthetic\n# source.two=synthetic\n"                                           \
    "# model.small=llama layers=8 hidden=2048 heads=16 ffn=5504 vocab=32000\n"                     \
    "# model.wide=nemotron layers=6 hidden=4096 heads=32 kv_heads=8 ffn=16384 "                    \
    "vocab=64000\n" RH_STEPS_HEADER "\n"

static char *table_text(void)
{
    static const char *const models[] = {"small", "wide"};
    static const char *const layouts[] = {"tp1 pp1 mb1 zero1 sp=off", "tp2 pp1 mb2 zero1 sp=on",
                                          "tp4 pp2 mb1 zero1 sp=on", "tp8 pp2 mb1 zero0 sp=off"};
    GString *text = g_string_new(HEAD);
    for (size_t m = 0; m < G_N_ELEMENTS(models); m++)
        for (int sequence = 512; sequence <= 2048; sequence *= 2)
            for (size_t l = 0; l < G_N_ELEMENTS(layouts); l++)
                g_string_append_printf(text,
                                       "%s,made,%s,dgx-a100:4,32,%d,%d,bf16,%s,flash,fused,,1,\n",
                                       m == 0 ? "one" : "two", models[m], 32 * (512 / sequence + 1),
                                       sequence, layouts[l]);
    return g_string_free(text, FALSE);
}

/* Reads the table, each row as long as the model has it, by a factor of its source. */
static RhMeasuredSteps *steps_of(double one, double two)
{
    g_autofree char *text = table_text();
    g_autoptr(GError) error = NULL;
    RhMeasuredSteps *steps = rh_steps_parse("made.csv", text, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    g_autoptr(RhStepModel) model = rh_step_model_new(steps, "megatron", NULL);
    for (guint i = 0; i < steps->rows->len; i++) {
        RhMeasuredStep *step = &g_array_index(steps->rows, RhMeasuredStep, i);
        double noise = 1 + 0.01 * sin(12.9898 * (i + 1));
        step->seconds = rh_step_model_segment_s(model, step) * noise *
                        (strcmp(step->source, "one") == 0 ? one : two);
    }
    return steps;
}

static bool is_of_two(const RhMeasuredStep *step, const void *which)
{
    (void)which;
    return strcmp(step->source, "two") == 0;
}

static RhStepModel *without_one(const RhMeasuredSteps *steps)
{
    g_autoptr(RhStepsHeldOut) held_out =
        rh_steps_held_out_new(steps, "megatron", (RhDeadline){0}, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(held_out);
    RhStepModel *model = rh_steps_held_out(held_out, is_of_two, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(model);
    return model;
}

static bool agree(const RhStepModel *a, const RhStepModel *b, double tolerance)
{
    bool all = fabs(a->clocks[0].clock_frac.value / b->clocks[0].clock_frac.value - 1) <= tolerance;
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++) {
        double x = ((const RhFact *)(const void *)((const char *)&a->stack + s->offset))->value,
               y = ((const RhFact *)(const void *)((const char *)&b->stack + s->offset))->value;
        all &= fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
    }
    return all;
}

static void left_out_rows_have_no_part(void)
{
    g_autoptr(RhMeasuredSteps) plain = steps_of(1, 1);
    g_autoptr(RhMeasuredSteps) left_out = steps_of(2, 1);
    g_autoptr(RhMeasuredSteps) kept = steps_of(1, 1.2);
    g_autoptr(RhStepModel) a = without_one(plain);
    g_autoptr(RhStepModel) b = without_one(left_out);
    g_autoptr(RhStepModel) c = without_one(kept);
    CU_ASSERT_TRUE(agree(a, b, 0));
    CU_ASSERT_FALSE(agree(a, c, 0.01));
}

/* The linear form of the kept rows is the one that a fit of them alone makes. */
static void the_others_are_fitted_as_alone(void)
{
    g_autoptr(RhMeasuredSteps) steps = steps_of(1, 1.05);
    g_autoptr(RhStepModel) selected = without_one(steps);
    g_autoptr(RhStepModel) alone = rh_step_model_new(steps, "megatron", NULL);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(double));
    double one = 1;
    for (guint i = 0; i < steps->rows->len; i++)
        g_array_append_val(scales, one);
    RhStepTask task = rh_step_task_new(alone, scales, is_of_two, NULL);
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++)
        if (s->counted)
            rh_step_task_hold(
                &task, (const RhFact *)(const void *)((const char *)&alone->stack + s->offset));
    CU_ASSERT_TRUE(rh_step_task_solve(&task, 1, true));
    rh_step_task_fill_untold(&task);
    rh_step_task_clear(&task);
    CU_ASSERT_TRUE(agree(selected, alone, 1e-9));
}

static bool is_of_none(const RhMeasuredStep *step, const void *which)
{
    (void)step;
    (void)which;
    return false;
}

static void no_rows_tell_nothing(void)
{
    g_autoptr(RhMeasuredSteps) steps = steps_of(1, 1);
    g_autoptr(RhStepsHeldOut) held_out =
        rh_steps_held_out_new(steps, "megatron", (RhDeadline){0}, NULL);
    g_autoptr(RhStepModel) none = rh_steps_held_out(held_out, is_of_none, NULL);
    CU_ASSERT_PTR_NULL(none);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_steps_held_out_new(steps, "no-such-stack", (RhDeadline){0}, &error));
    CU_ASSERT_PTR_NOT_NULL(error);
}

int main(void)
{
    static const RhTest tests[] = {
        {"left_out_rows_have_no_part", left_out_rows_have_no_part},
        {"the_others_are_fitted_as_alone", the_others_are_fitted_as_alone},
        {"no_rows_tell_nothing", no_rows_tell_nothing},
        {NULL, NULL},
    };
    return rh_test_main("steps_held_out", tests);
}
