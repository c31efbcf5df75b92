#include "sim/engine/engine.h"

#include <math.h>

#include "sim/engine/session.h"

/* Performs `steps` steps from the clock's present on. */
static RhRun *perform(RhSession *s, int32_t job, int32_t steps, GError **error)
{
    RhSubmission what = {.job = job, .t_start_s = rh_session_clock_s(s), .steps = MAX(1, steps)};
    RhSessionEvent event;
    if (!rh_session_submit(s, what, error) || !rh_session_run(s, HUGE_VAL, &event, error))
        return NULL;
    if (event.kind != RH_EVENT_CUTOFF)
        return rh_session_report(s, job);
    RhRun *run = rh_run_new();
    run->left = true;
    run->step_time_s = rh_session_least_s(s);
    return run;
}

RhRun *rh_engine_run(const RhProgram *p, const RhPlatform *platform, const RhEngineOptions *options,
                     GError **error)
{
    g_return_val_if_fail(p && platform && options, NULL);
    g_autoptr(RhSession) s = rh_session_open(platform, options);
    int32_t job = rh_session_admit(s, p, NULL, "the program", error);
    if (job < 0)
        return NULL;
    if (options->jitter_frac <= 0 || options->unfolded)
        return perform(s, job, options->steps, error);
    /* a folded run has no stragglers; the order-statistic correction stands for them */
    g_autoptr(RhRun) even = perform(s, job, 1, error);
    if (!even)
        return NULL;
    rh_session_begin_jitter(s);
    RhRun *run = perform(s, job, options->steps, error);
    if (run)
        run->jitter_correction_s = run->step_time_s - even->step_time_s;
    return run;
}
