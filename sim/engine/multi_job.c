#include "sim/engine/multi_job.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/serialize.h"
#include "sim/engine/workers/process_pool.h"

typedef struct {
    const RhMultiJobQuestion *ask;
    const RhPlatform *platform;
    const RhEngineOptions *options;
    RhMultiJobRun *out;
    GError *failure; /* the first one */
} Work;

static RhMultiJobRun *together_new(int32_t count)
{
    RhMultiJobRun *t = g_new0(RhMultiJobRun, 1);
    t->parts = g_array_new(FALSE, TRUE, sizeof(RhMultiJobResult));
    g_array_set_size(t->parts, (guint)count);
    for (int32_t i = 0; i < count; i++)
        RH_AT(t->parts, RhMultiJobResult, i)->step_times =
            g_array_new(FALSE, FALSE, sizeof(double));
    t->links = g_array_new(FALSE, FALSE, sizeof(RhSessionLink));
    return t;
}

void rh_multi_job_free(RhMultiJobRun *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->parts->len; i++) {
        RhMultiJobResult *part = RH_AT(t->parts, RhMultiJobResult, i);
        rh_run_free(part->alone);
        rh_run_free(part->beside);
        g_array_unref(part->step_times);
    }
    for (uint32_t i = 0; i < t->links->len; i++) {
        g_free(RH_AT(t->links, RhSessionLink, i)->name);
        g_free(RH_AT(t->links, RhSessionLink, i)->bytes);
    }
    g_array_unref(t->parts);
    g_array_unref(t->links);
    g_clear_pointer(&t->background_alone, g_byte_array_unref);
    g_clear_pointer(&t->background_beside, g_byte_array_unref);
    g_free(t);
}

/* --- in a child process --- */

struct RhJobSimulation {
    const Work *work;
    RhSession *session;
    RhMultiJobRun *out;
    double *t_last_s; /* by job: end of its latest step */
    int32_t jobs_count, unfinished, background;
};

static GByteArray *perform_alone(const Work *work, int32_t job, GError **error)
{
    RhEngineOptions options = *work->options;
    options.steps = work->ask->jobs[job].steps;
    const RhProgram *p = work->ask->build(job, work->ask->user, error);
    const RhRun *run = p ? rh_engine_run(p, work->platform, &options, error) : NULL;
    return run ? rh_run_pack(run) : NULL;
}

static bool admit_jobs(RhJobSimulation *stage, GError **error)
{
    const RhMultiJobQuestion *ask = stage->work->ask;
    for (int32_t i = 0; i < stage->jobs_count; i++) {
        const RhProgram *p = ask->build(i, ask->user, error);
        if (!p || rh_session_admit(stage->session, p, NULL, ask->jobs[i].name, error) < 0)
            return false;
    }
    return true;
}

static bool admit_guest(RhJobSimulation *stage, GError **error)
{
    const RhMultiJobService *background = stage->work->ask->background;
    if (!background)
        return true;
    const RhProgram *p = background->ways(background->user, error);
    stage->background = p ? rh_session_admit(stage->session, p, NULL, "service", error) : -1;
    return stage->background >= 0;
}

static bool submit_all(RhJobSimulation *stage, GError **error)
{
    stage->t_last_s = g_new0(double, stage->jobs_count + 1);
    for (int32_t i = 0; i < stage->jobs_count; i++) {
        RhSubmission what = {.job = i,
                             .t_start_s = stage->work->ask->jobs[i].t_start_s,
                             .steps = 0,
                             .tell_steps = true};
        stage->t_last_s[i] = what.t_start_s;
        if (!rh_session_submit(stage->session, what, error))
            return false;
    }
    return true;
}

static RhJobSimulation *open_stage(const Work *work, int32_t jobs, GError **error)
{
    RhJobSimulation *stage = g_new0(RhJobSimulation, 1); /* allocations here end with the child */
    *stage = (RhJobSimulation){.work = work,
                               .session = rh_session_open(work->platform, work->options),
                               .out = together_new(jobs),
                               .jobs_count = jobs,
                               .unfinished = jobs,
                               .background = -1};
    return admit_jobs(stage, error) && admit_guest(stage, error) && submit_all(stage, error) ? stage
                                                                                             : NULL;
}

static void count_step(RhJobSimulation *stage, const RhSessionEvent *event)
{
    RhMultiJobResult *part = RH_AT(stage->out->parts, RhMultiJobResult, event->job);
    int32_t wanted = stage->work->ask->jobs[event->job].steps;
    double step_s = event->t_s - stage->t_last_s[event->job];
    stage->t_last_s[event->job] = stage->out->t_end_s = event->t_s;
    if (++part->performed <= wanted)
        g_array_append_val(part->step_times, step_s);
    if (part->performed == wanted) {
        part->beside = rh_session_report(stage->session, event->job);
        stage->unfinished--;
    }
}

bool rh_job_stage_run(RhJobSimulation *stage, double until_s, RhSessionEvent *event, GError **error)
{
    while (rh_session_run(stage->session, until_s, event, error)) {
        if (event->kind != RH_EVENT_STEP)
            return true;
        count_step(stage, event);
    }
    return false;
}

bool rh_job_stage_post(RhJobSimulation *stage, RhSessionMessage message, GError **error)
{
    message.job = stage->background;
    return rh_session_post(stage->session, message, error);
}

/* Performs steps of all jobs until each has done its own number. */
static bool finish_jobs(RhJobSimulation *stage, GError **error)
{
    RhSessionEvent event;
    while (stage->unfinished > 0) {
        if (!rh_session_run(stage->session, HUGE_VAL, &event, error))
            return false;
        if (event.kind == RH_EVENT_STEP)
            count_step(stage, &event);
    }
    return true;
}

static void pack_together(GByteArray *out, const RhMultiJobRun *t)
{
    for (uint32_t i = 0; i < t->parts->len; i++) {
        const RhMultiJobResult *part = RH_AT(t->parts, RhMultiJobResult, i);
        g_autoptr(GByteArray) run = rh_run_pack(part->beside);
        rh_pack_bytes(out, run);
        rh_pack(out, &part->performed, sizeof part->performed);
        rh_pack_array(out, part->step_times, sizeof(double));
    }
    bool background = t->background_beside != NULL;
    rh_pack(out, &background, sizeof background);
    if (background)
        rh_pack_bytes(out, t->background_beside);
    rh_pack(out, &t->t_end_s, sizeof t->t_end_s);
    rh_pack(out, &t->links->len, sizeof t->links->len);
    for (uint32_t i = 0; i < t->links->len; i++) {
        const RhSessionLink *link = RH_AT(t->links, RhSessionLink, i);
        rh_pack(out, link, sizeof *link);
        rh_pack_text(out, link->name);
        rh_pack(out, link->bytes, sizeof *link->bytes * (t->parts->len + background));
    }
}

static GByteArray *perform_guest_alone(const Work *work, GError **error)
{
    const RhMultiJobService *background = work->ask->background;
    RhJobSimulation *stage = open_stage(work, 0, error);
    return stage ? background->play(stage, background->user, error) : NULL;
}

static GByteArray *perform_together(const Work *work, GError **error)
{
    const RhMultiJobService *background = work->ask->background;
    GByteArray *out = g_byte_array_new();
    RhJobSimulation *stage = open_stage(work, work->ask->count, error);
    RhMultiJobRun *t = stage ? stage->out : NULL;
    if (stage && background)
        t->background_beside = background->play(stage, background->user, error);
    if (!stage || (background && !t->background_beside))
        return NULL;
    t->t_end_s = rh_session_clock_s(stage->session);
    if (!finish_jobs(stage, error))
        return NULL;
    t->links = rh_session_collective_calls(stage->session);
    pack_together(out, t);
    return out;
}

/* Performs an item: each job alone, all together, or the background service alone. */
static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Work *work = user;
    return item < work->ask->count    ? perform_alone(work, item, error)
           : item == work->ask->count ? perform_together(work, error)
                                      : perform_guest_alone(work, error);
}

/* --- in the calling process --- */

static bool unpack_part(RhUnpack *in, RhMultiJobResult *part)
{
    g_autoptr(GByteArray) run = rh_unpack_bytes(in);
    part->beside = in->whole ? rh_run_unpack(run->data, run->len) : NULL;
    rh_unpack(in, &part->performed, sizeof part->performed);
    rh_unpack_array(in, part->step_times, sizeof(double));
    return part->beside && in->whole;
}

static bool unpack_together(RhUnpack in, RhMultiJobRun *t)
{
    for (uint32_t i = 0; i < t->parts->len; i++)
        if (!unpack_part(&in, RH_AT(t->parts, RhMultiJobResult, i)))
            return false;
    uint32_t links;
    bool background;
    rh_unpack(&in, &background, sizeof background);
    if (background)
        t->background_beside = rh_unpack_bytes(&in);
    rh_unpack(&in, &t->t_end_s, sizeof t->t_end_s);
    rh_unpack(&in, &links, sizeof links);
    for (uint32_t i = 0; i < links && in.whole; i++) {
        RhSessionLink link;
        rh_unpack(&in, &link, sizeof link);
        link.name = rh_unpack_text(&in);
        link.bytes = g_new0(double, t->parts->len + 1);
        rh_unpack(&in, link.bytes, sizeof *link.bytes * (t->parts->len + background));
        g_array_append_val(t->links, link);
    }
    return in.whole;
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Work *work = user;
    bool fine = bytes != NULL;
    if (bytes && item < work->ask->count) {
        RhMultiJobResult *part = RH_AT(work->out->parts, RhMultiJobResult, item);
        part->alone = rh_run_unpack(bytes->data, bytes->len);
        fine = part->alone != NULL;
    } else if (bytes && item > work->ask->count) {
        work->out->background_alone =
            g_byte_array_append(g_byte_array_new(), bytes->data, bytes->len);
    } else if (bytes) {
        fine = unpack_together((RhUnpack){bytes->data, bytes->data + bytes->len, true}, work->out);
    }
    if (fine || work->failure)
        return;
    if (error)
        work->failure = g_error_copy(error);
    else
        rh_fail(&work->failure, RH_ERROR_INTERNAL, "the simulation's answer broke off");
}

RhMultiJobRun *rh_multi_job_rehearse(const RhMultiJobQuestion *ask, const RhPlatform *platform,
                                     const RhEngineOptions *options, int32_t processes,
                                     GError **error)
{
    g_return_val_if_fail(ask && ask->count > 0 && platform && options, NULL);
    g_autoptr(RhMultiJobRun) t = together_new(ask->count);
    Work work = {.ask = ask, .platform = platform, .options = options, .out = t};
    RhProcessPool workers = {.count = ask->count + 1 + (ask->background != NULL),
                             .jobs = MAX(1, processes),
                             .timeout_s = options->timeout_s,
                             .perform = perform,
                             .answer = answer,
                             .user = &work};
    rh_process_pool_run(&workers);
    if (work.failure) {
        g_propagate_error(error, work.failure);
        return NULL;
    }
    return g_steal_pointer(&t);
}
