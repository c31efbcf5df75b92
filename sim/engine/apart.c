#include "sim/engine/apart.h"

#include "base/error.h"
#include "sim/engine/workers.h"

typedef struct {
    RhBuildFunc build;
    const RhPlatform *platform;
    const RhEngineOptions *options;
    void *user;
    RhRun **out;
    GError **errors;
    void (*progress)(int32_t done, void *user);
    int32_t done;
} Many;

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Many *many = user; /* the program and the run end with the child */
    const RhProgram *p = many->build(item, many->user, error);
    const RhRun *run = p ? rh_engine_run(p, many->platform, many->options, error) : NULL;
    return run ? rh_run_pack(run) : NULL;
}

static void tell(void *user)
{
    Many *many = user;
    if (many->progress)
        many->progress(many->done, many->user);
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Many *many = user;
    many->out[item] = bytes ? rh_run_unpack(bytes->data, bytes->len) : NULL;
    many->errors[item] = error ? g_error_copy(error) : NULL;
    if (bytes && !many->out[item])
        rh_fail(&many->errors[item], RH_ERROR_INTERNAL, "the rehearsal's answer broke off");
    many->done++;
    tell(many);
}

void rh_rehearse_apart_many(int32_t count, int32_t jobs, RhBuildFunc build,
                            const RhPlatform *platform, const RhEngineOptions *options, void *user,
                            RhRun **out, GError **errors,
                            void (*progress)(int32_t done, void *user))
{
    g_return_if_fail(build && platform && options && out && errors);
    Many many = {.build = build,
                 .platform = platform,
                 .options = options,
                 .user = user,
                 .out = out,
                 .errors = errors,
                 .progress = progress};
    RhWorkers workers = {.count = count,
                         .jobs = CLAMP(jobs, 1, MAX(count, 1)),
                         .timeout_s = options->timeout_s,
                         .perform = perform,
                         .answer = answer,
                         .waiting = tell,
                         .user = &many};
    rh_workers_run(&workers);
}

/* One program that is there already. */
typedef struct {
    const RhProgram *program;
} One;

static RhProgram *given(int32_t index, void *user, GError **error)
{
    (void)index, (void)error;
    return (RhProgram *)((One *)user)->program;
}

RhRun *rh_rehearse_apart(const RhProgram *p, const RhPlatform *platform,
                         const RhEngineOptions *options, GError **error)
{
    g_return_val_if_fail(p && platform && options, NULL);
    RhRun *run = NULL;
    GError *failure = NULL;
    One one = {p};
    rh_rehearse_apart_many(1, 1, given, platform, options, &one, &run, &failure, NULL);
    if (failure)
        g_propagate_error(error, failure);
    return run;
}
