/* Rehearses: a job alone, then beside a copy of itself on nodes of the same two leaves.
 *     cc rehearse.c $(pkg-config --cflags --libs rehearse) -o rehearse && ./rehearse */
#include <gsl/gsl_errno.h>
#include <math.h>
#include <rehearse.h>
#include <stdio.h>

int main(void)
{
    const char *cluster = "h100-sxm:8x4,ib:400Gb/s,leaf:2,oversub:8"; /* two nodes on each leaf */
    GError *error = NULL;
    gsl_set_error_handler_off();
    g_autoptr(RhModel) model = rh_model_load("llama-3.2-1b", &error);
    g_autoptr(RhPlatform) platform = model ? rh_platform_load(cluster, &error) : NULL;
    RhLayout layout = rh_layout_default();
    bool fine = platform && rh_layout_parse("tp8,dp2", &layout, &error);
    RhProblem job = {.model = model, .platform = platform, .stack = rh_stack_by_name("bare", NULL)};
    job.job = (RhJob){.global_batch = 2, .sequence = 4096, .gpus = 16, .recipe = &rh_recipe_bf16};
    g_autoptr(RhProgram) program = fine ? rh_train_build(&job, &layout, &error) : NULL;
    RhEngineOptions options = {0};
    g_autoptr(RhSession) session = program ? rh_session_open(platform, &options) : NULL;
    for (int32_t j = 0, gpus[16]; session && fine && j < 2; j++) {
        for (int32_t r = 0; r < 16; r++)
            gpus[r] = 8 * (j + 2 * (r / 8)) + r % 8; /* the first job's nodes are 0 and 2 */
        fine = rh_session_admit(session, program, gpus, j ? "second" : "first", &error) == j;
    }
    for (int32_t jobs = 1; session && fine && jobs <= 2; jobs++) {
        double t_start_s = rh_session_clock_s(session);
        RhSessionEvent event;
        for (int32_t j = 0; fine && j < jobs; j++)
            fine = rh_session_submit(session, (RhSubmission){j, t_start_s, 2, false}, &error);
        for (int32_t j = 0; fine && j < jobs; j++)
            if ((fine = rh_session_run(session, HUGE_VAL, &event, &error)))
                printf("%d at once: job %d takes %.1f ms/step\n", jobs, event.job,
                       (event.t_s - t_start_s) / 2 * 1e3);
    }
    if (error)
        fprintf(stderr, "error: %s\n", error->message);
    return error ? 1 : 0;
}
