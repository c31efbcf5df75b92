#include "sim/engine/workers/isolated_run.h"

#include <string.h>

#include "base/error.h"
#include "base/serialize.h"
#include "sim/engine/simgrid_bridge.h"
#include "sim/engine/workers/fork_server.h"

typedef struct {
    const RhIsolatedBatch *batch;
    RhBuildFunc build; /* builds a program in the child */
    const RhPlatform *platform;
    int32_t done;
} Many;

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Many *many = user; /* the program and the run end with the child */
    const RhIsolatedBatch *b = many->batch;
    const RhProgram *p = many->build(item, b->user, error);
    const RhRun *run =
        p ? rh_engine_run(p, many->platform, &b->options[b->options_each ? item : 0], error) : NULL;
    return run ? rh_run_pack(run) : NULL;
}

static void report_progress(void *user)
{
    const Many *many = user;
    if (many->batch->progress)
        many->batch->progress(many->done, many->batch->user);
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Many *many = user;
    RhRun **out = &many->batch->out[item];
    GError **errors = &many->batch->errors[item];
    *out = bytes ? rh_run_unpack(bytes->data, bytes->len) : NULL;
    *errors = error ? g_error_copy(error) : NULL;
    if (bytes && !*out)
        rh_fail(errors, RH_ERROR_INTERNAL, "the simulation's answer broke off");
    many->done++;
    report_progress(many);
}

static RhProcessPool pool_of(Many *many)
{
    const RhIsolatedBatch *b = many->batch;
    return (RhProcessPool){.count = b->count,
                           .jobs = CLAMP(b->jobs, 1, MAX(b->count, 1)),
                           .timeout_s = b->options->timeout_s,
                           .answer = answer,
                           .waiting = report_progress,
                           .of_ranks = true,
                           .user = many};
}

void rh_rehearse_isolated_many(const RhIsolatedBatch *batch, RhBuildFunc build,
                               const RhPlatform *platform)
{
    g_return_if_fail(build && platform && batch->options && batch->out && batch->errors);
    Many many = {.batch = batch, .build = build, .platform = platform};
    RhProcessPool workers = pool_of(&many);
    workers.perform = perform;
    rh_process_pool_run(&workers);
}

/* A single program that exists already. */
typedef struct {
    const RhProgram *program;
} One;

static RhProgram *given(int32_t index, void *user, GError **error)
{
    (void)index, (void)error;
    return (RhProgram *)((One *)user)->program;
}

RhRun *rh_rehearse_isolated(const RhProgram *p, const RhPlatform *platform,
                            const RhEngineOptions *options, GError **error)
{
    g_return_val_if_fail(p && platform && options, NULL);
    RhRun *run = NULL;
    GError *failure = NULL;
    One one = {p};
    rh_rehearse_isolated_many(&(RhIsolatedBatch){.count = 1,
                                                 .jobs = 1,
                                                 .options = options,
                                                 .out = &run,
                                                 .errors = &failure,
                                                 .user = &one},
                              given, platform);
    if (failure)
        g_propagate_error(error, failure);
    return run;
}

/* --- programs built from notes --- */

struct RhIsolatedRuns {
    RhBuildNoteFunc build;
    size_t note_bytes;
    const RhPlatform *platform;
    RhUncontendedTimes *alone;
    int32_t alone_told;
    RhFoldedTable *folded;
    void *user;
    RhForkServer *server;
};

/* The build note inside an item's note, which begins with the options. */
static const void *note_in(const void *note)
{
    return (const uint8_t *)note + sizeof(RhEngineOptions);
}

static GByteArray *perform_note(const void *note, void *user, GError **error)
{
    const RhIsolatedRuns *a = user;
    RhEngineOptions options;
    memcpy(&options, note, sizeof options);
    options.alone = a->alone;
    options.folded = a->folded;
    const RhProgram *p = a->build(note_in(note), a->user, error);
    const RhRun *run = p ? rh_engine_run(p, a->platform, &options, error) : NULL;
    return run ? rh_run_pack(run) : NULL;
}

/* Prepares SimGrid, which takes as long as a short rehearsal does. */
static bool prepare_simgrid(void *user)
{
    (void)user;
    return rh_bridge_prepare() == NULL;
}

/* Serializes what the fork server must learn: uncontended times of collectives, the number of their
 * bytes before them, and folds. */
static GByteArray *news_of(RhIsolatedRuns *a)
{
    GByteArray *news = g_byte_array_new(), *times = g_byte_array_new();
    a->alone_told = rh_uncontended_times_give(a->alone, a->alone_told, times);
    rh_pack(news, &times->len, sizeof times->len);
    rh_pack(news, times->data, times->len);
    rh_fold_cache_give(a->folded, news);
    g_byte_array_unref(times);
    return news;
}

static void hear(const void *news, size_t length, void *user)
{
    const RhIsolatedRuns *a = user;
    RhUnpack in = {news, (const uint8_t *)news + length, true};
    guint times = 0;
    rh_unpack(&in, &times, sizeof times);
    g_return_if_fail(in.whole && times <= (size_t)(in.end - in.at));
    rh_uncontended_times_take(a->alone, in.at, times);
    in.at += times;
    rh_fold_cache_take(a->folded, a->platform, in.at, (size_t)(in.end - in.at));
}

RhIsolatedRuns *rh_isolated_run_new(RhBuildNoteFunc build, size_t note_bytes,
                                    const RhPlatform *platform, RhUncontendedTimes *alone,
                                    RhFoldedTable *folded, void *user)
{
    g_return_val_if_fail(build && platform && alone && folded, NULL);
    RhIsolatedRuns *a = g_new(RhIsolatedRuns, 1);
    *a = (RhIsolatedRuns){
        build,  note_bytes, platform, alone, rh_uncontended_times_give(alone, 0, NULL),
        folded, user,       NULL};
    a->server =
        rh_fork_server_new(&(RhForkServerWork){.perform = perform_note,
                                               .note_bytes = sizeof(RhEngineOptions) + note_bytes,
                                               .begin = prepare_simgrid,
                                               .hear = hear,
                                               .user = a});
    return a;
}

void rh_isolated_run_free(RhIsolatedRuns *apart)
{
    if (!apart)
        return;
    rh_fork_server_free(apart->server);
    g_free(apart);
}

static void add_note(const RhIsolatedRuns *a, GByteArray *notes, const RhEngineOptions *options,
                     const void *note)
{
    g_byte_array_append(notes, (const guint8 *)options, sizeof *options);
    g_byte_array_append(notes, note, (guint)a->note_bytes);
}

void rh_isolated_run_begin(RhIsolatedRuns *a, int32_t jobs, const void *note,
                           const RhEngineOptions *options)
{
    g_return_if_fail(a && note && options && jobs > 0);
    g_autoptr(GByteArray) whole = g_byte_array_new(), news = news_of(a);
    add_note(a, whole, options, note);
    rh_fork_server_begin(a->server, jobs - 1, options->timeout_s, whole->data, news);
}

void rh_isolated_run_forget(RhIsolatedRuns *a)
{
    rh_fork_server_forget(a->server);
}

void rh_isolated_run_batch(RhIsolatedRuns *a, const RhIsolatedBatch *batch)
{
    g_return_if_fail(a && batch->options && batch->out && batch->errors);
    Many many = {.batch = batch};
    RhProcessPool workers = pool_of(&many);
    if (batch->count <= 0)
        return;
    g_autoptr(GByteArray) all = g_byte_array_new(), news = news_of(a);
    for (int32_t i = 0; i < batch->count; i++)
        add_note(a, all, &batch->options[batch->options_each ? i : 0],
                 (const uint8_t *)batch->notes + (size_t)i * a->note_bytes);
    rh_fork_server_run(a->server, &workers, all->data, news);
}
