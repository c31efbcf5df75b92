#include "strategies/search/rehearsals/build_by_deadline.h"

#include <sys/mman.h>

#include "base/error.h"

typedef struct {
    const RhProblem *c;
    const RhLayout *layout;
    double *built_s; /* time of building; shared with the child */
} Build;

static RhProgram *build(int32_t index, void *user, GError **error)
{
    (void)index;
    const Build *b = user;
    gint64 t_start_us = g_get_monotonic_time();
    RhProgram *p = rh_train_build(b->c, b->layout, error);
    *b->built_s = (double)(g_get_monotonic_time() - t_start_us) * 1e-6;
    return p;
}

/* Runs a child that builds the program itself; *built_s gets the time of building. */
static RhRun *rehearse(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                       double *built_s, GError **error)
{
    Build b = {c, layout, NULL};
    b.built_s =
        mmap(NULL, sizeof *b.built_s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b.built_s == MAP_FAILED) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "no answer: memory ran out");
        return NULL;
    }
    RhRun *run = NULL;
    GError *failure = NULL;
    rh_rehearse_isolated_many(
        &(RhIsolatedBatch){
            .count = 1, .jobs = 1, .options = options, .out = &run, .errors = &failure, .user = &b},
        build, c->platform);
    *built_s = *b.built_s;
    munmap(b.built_s, sizeof *b.built_s);
    if (failure)
        g_propagate_error(error, failure);
    return run;
}

RhRun *rh_rehearse_by_deadline(const RhProblem *c, const RhLayout *layout,
                               const RhEngineOptions *options, RhProgram **program, GError **error)
{
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    g_autoptr(RhRun) run = NULL;
    double built_s = 0;
    if (options->timeout_s > 0 && !(run = rehearse(c, layout, options, &built_s, error)))
        return NULL;
    if (built_s > rh_deadline_left_s(deadline)) {
        rh_fail(
            error, RH_ERROR_NO_ANSWER,
            "no answer in time: of %g s the simulation left %.3g s, and its program takes %.3g s "
            "to build once more",
            options->timeout_s, fmax(0, rh_deadline_left_s(deadline)), built_s);
        return NULL;
    }
    g_autoptr(RhProgram) built = rh_train_build(c, layout, error);
    if (built && !run)
        run = rh_rehearse_isolated(built, c->platform, options, error);
    if (!built || !run)
        return NULL;
    *program = g_steal_pointer(&built);
    return g_steal_pointer(&run);
}
