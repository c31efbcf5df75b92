#include "sim/engine/together.h"

#include <math.h>

#include "base/error.h"
#include "base/pack.h"
#include "sim/engine/workers.h"

#define AT(array, Type, i) (&g_array_index((array), Type, (i)))

typedef struct {
    const RhTogetherAsk *ask;
    const RhPlatform *platform;
    const RhEngineOptions *options;
    RhTogether *out;
    GError *failure; /* the first */
} Work;

static RhTogether *together_new(int32_t count)
{
    RhTogether *t = g_new0(RhTogether, 1);
    t->parts = g_array_new(FALSE, TRUE, sizeof(RhTogetherPart));
    g_array_set_size(t->parts, (guint)count);
    for (int32_t i = 0; i < count; i++)
        AT(t->parts, RhTogetherPart, i)->step_times = g_array_new(FALSE, FALSE, sizeof(double));
    t->links = g_array_new(FALSE, FALSE, sizeof(RhSessionLink));
    return t;
}

void rh_together_free(RhTogether *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->parts->len; i++) {
        RhTogetherPart *part = AT(t->parts, RhTogetherPart, i);
        rh_run_free(part->alone);
        rh_run_free(part->beside);
        g_array_unref(part->step_times);
    }
    for (uint32_t i = 0; i < t->links->len; i++) {
        g_free(AT(t->links, RhSessionLink, i)->name);
        g_free(AT(t->links, RhSessionLink, i)->bytes);
    }
    g_array_unref(t->parts);
    g_array_unref(t->links);
    g_free(t);
}

/* --- in a child --- */

static GByteArray *perform_alone(const Work *work, int32_t job, GError **error)
{
    RhEngineOptions options = *work->options;
    options.steps = work->ask->jobs[job].steps;
    const RhProgram *p = work->ask->build(job, work->ask->user, error);
    const RhRun *run = p ? rh_engine_run(p, work->platform, &options, error) : NULL;
    return run ? rh_run_pack(run) : NULL;
}

static bool admit_all(const Work *work, RhSession *s, GError **error)
{
    for (int32_t i = 0; i < work->ask->count; i++) {
        const RhProgram *p = work->ask->build(i, work->ask->user, error);
        if (!p || rh_session_admit(s, p, NULL, work->ask->jobs[i].name, error) < 0)
            return false;
    }
    for (int32_t i = 0; i < work->ask->count; i++) {
        RhSubmission what = {
            .job = i, .t_start_s = work->ask->jobs[i].t_start_s, .steps = 0, .tell_steps = true};
        if (!rh_session_submit(s, what, error))
            return false;
    }
    return true;
}

/* Steps of all until each has done its own. */
static bool run_all(const Work *work, RhSession *s, RhTogether *t, GError **error)
{
    int32_t count = work->ask->count, unfinished = count;
    g_autofree double *t_last_s = g_new0(double, count + 1);
    for (int32_t i = 0; i < count; i++)
        t_last_s[i] = work->ask->jobs[i].t_start_s;
    while (unfinished > 0) {
        RhSessionEvent event;
        if (!rh_session_run(s, HUGE_VAL, &event, error))
            return false;
        RhTogetherPart *part = AT(t->parts, RhTogetherPart, event.job);
        int32_t wanted = work->ask->jobs[event.job].steps;
        double step_s = event.t_s - t_last_s[event.job];
        t_last_s[event.job] = t->t_end_s = event.t_s;
        if (++part->performed <= wanted)
            g_array_append_val(part->step_times, step_s);
        if (part->performed == wanted) {
            part->beside = rh_session_report(s, event.job);
            unfinished--;
        }
    }
    return true;
}

static void pack_together(GByteArray *out, const RhTogether *t)
{
    for (uint32_t i = 0; i < t->parts->len; i++) {
        const RhTogetherPart *part = AT(t->parts, RhTogetherPart, i);
        g_autoptr(GByteArray) run = rh_run_pack(part->beside);
        rh_pack(out, &run->len, sizeof run->len);
        rh_pack(out, run->data, run->len);
        rh_pack(out, &part->performed, sizeof part->performed);
        rh_pack_array(out, part->step_times, sizeof(double));
    }
    rh_pack(out, &t->t_end_s, sizeof t->t_end_s);
    rh_pack(out, &t->links->len, sizeof t->links->len);
    for (uint32_t i = 0; i < t->links->len; i++) {
        const RhSessionLink *link = AT(t->links, RhSessionLink, i);
        rh_pack(out, link, sizeof *link);
        rh_pack_text(out, link->name);
        rh_pack(out, link->bytes, sizeof *link->bytes * t->parts->len);
    }
}

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Work *work = user; /* what is made here ends with the child */
    if (item < work->ask->count)
        return perform_alone(work, item, error);
    RhSession *s = rh_session_open(work->platform, work->options);
    RhTogether *t = together_new(work->ask->count);
    if (!admit_all(work, s, error) || !run_all(work, s, t, error))
        return NULL;
    t->links = rh_session_meetings(s);
    GByteArray *out = g_byte_array_new();
    pack_together(out, t);
    return out;
}

/* --- in the caller --- */

static bool unpack_part(RhUnpack *in, RhTogetherPart *part)
{
    uint32_t length;
    rh_unpack(in, &length, sizeof length);
    if ((size_t)(in->end - in->at) < length)
        return false;
    part->beside = rh_run_unpack(in->at, length);
    in->at += length;
    rh_unpack(in, &part->performed, sizeof part->performed);
    rh_unpack_array(in, part->step_times, sizeof(double));
    return part->beside && in->whole;
}

static bool unpack_together(RhUnpack in, RhTogether *t)
{
    for (uint32_t i = 0; i < t->parts->len; i++)
        if (!unpack_part(&in, AT(t->parts, RhTogetherPart, i)))
            return false;
    uint32_t links;
    rh_unpack(&in, &t->t_end_s, sizeof t->t_end_s);
    rh_unpack(&in, &links, sizeof links);
    for (uint32_t i = 0; i < links && in.whole; i++) {
        RhSessionLink link;
        rh_unpack(&in, &link, sizeof link);
        link.name = rh_unpack_text(&in);
        link.bytes = g_new0(double, t->parts->len + 1);
        rh_unpack(&in, link.bytes, sizeof *link.bytes * t->parts->len);
        g_array_append_val(t->links, link);
    }
    return in.whole;
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Work *work = user;
    bool fine = bytes != NULL;
    if (bytes && item < work->ask->count) {
        RhTogetherPart *part = AT(work->out->parts, RhTogetherPart, item);
        part->alone = rh_run_unpack(bytes->data, bytes->len);
        fine = part->alone != NULL;
    } else if (bytes) {
        fine = unpack_together((RhUnpack){bytes->data, bytes->data + bytes->len, true}, work->out);
    }
    if (fine || work->failure)
        return;
    if (error)
        work->failure = g_error_copy(error);
    else
        rh_fail(&work->failure, RH_ERROR_INTERNAL, "the rehearsal's answer broke off");
}

RhTogether *rh_rehearse_together(const RhTogetherAsk *ask, const RhPlatform *platform,
                                 const RhEngineOptions *options, int32_t processes, GError **error)
{
    g_return_val_if_fail(ask && ask->count > 0 && platform && options, NULL);
    g_autoptr(RhTogether) t = together_new(ask->count);
    Work work = {.ask = ask, .platform = platform, .options = options, .out = t};
    RhWorkers workers = {.count = ask->count + 1,
                         .jobs = MAX(1, processes),
                         .timeout_s = options->timeout_s,
                         .perform = perform,
                         .answer = answer,
                         .user = &work};
    rh_workers_run(&workers);
    if (work.failure) {
        g_propagate_error(error, work.failure);
        return NULL;
    }
    return g_steal_pointer(&t);
}
