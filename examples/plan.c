/* Plans: how should Llama-3.2-1B be trained on two nodes of eight H100s?
 *
 *     cc plan.c $(pkg-config --cflags --libs rehearse) -o plan && ./plan */
#include <gsl/gsl_errno.h>
#include <rehearse.h>
#include <stdio.h>

int main(void)
{
    GError *error = NULL;
    gsl_set_error_handler_off();
    g_autoptr(RhModel) model = rh_model_load("llama-3.2-1b", &error);
    g_autoptr(RhPlatform) hardware = model ? rh_platform_load("dgx-h100:2", &error) : NULL;
    if (!hardware) {
        fprintf(stderr, "error: %s\n", error->message);
        return 1;
    }
    const RhStack *stack =
        rh_stack_by_name("megatron", NULL); /* what its software makes of the links */
    g_autoptr(RhPlatform) platform = rh_stack_platform(stack, hardware);
    RhProblem question = {
        model,
        platform,
        stack,
        {.global_batch = 64, .sequence = 4096, .gpus = 16, .recipe = &rh_recipe_bf16}};
    RhPlanOptions options = {.top = 3, .gap_frac = 0.01, .jobs = 2};
    g_autoptr(RhPlan) plan = rh_plan(&question, &options, &error);
    if (!plan) {
        fprintf(stderr, "error: %s\n", error->message);
        return 1;
    }
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_autofree char *layout = rh_layout_format(&r->layout);
        printf("%u. %.1f ms/step, %.1f %% MFU: %s\n", i + 1, r->step_time_s * 1e3,
               r->mfu_frac * 100, layout);
    }
    printf("%s\n", plan->proved ? "nothing else is faster by more than 1 %" : "not proved");
    return 0;
}
