#include "strategies/search/funnel/forked_work.h"

#include "sim/engine/workers/process_pool.h"
#include "strategies/search/bounds/background_message_fold.h"
#include "strategies/search/bounds/collective_time_cache_merge.h"

typedef struct {
    RhFunnel *f;
    const RhSharedWork *work;
    GByteArray **answers; /* of each part; NULL: none yet */
    int32_t parts, done;
} Sharing;

static int32_t part_begin(const Sharing *s, int32_t part)
{
    return (int32_t)((gint64)s->work->count * part / s->parts);
}

static GByteArray *find_part(const Sharing *s, int32_t part)
{
    GByteArray *out = g_byte_array_new();
    for (int32_t i = part_begin(s, part); i < part_begin(s, part + 1); i++)
        s->work->find(i, out, s->work->user);
    return out;
}

/* Computes one part; returns what the bounds learned and then the answers. */
static GByteArray *perform_part(int32_t part, void *user, GError **error)
{
    const Sharing *s = user;
    (void)error;
    rh_bound_begin_learning(s->f->cache);
    g_autoptr(GByteArray) answers = find_part(s, part);
    GByteArray *out = rh_bound_end_learning(s->f->cache);
    rh_pack_bytes(out, answers);
    return out;
}

static void keep_part(int32_t part, const GByteArray *bytes, const GError *error, void *user)
{
    Sharing *s = user;
    if (!error) {
        RhUnpack in = {bytes->data, bytes->data + bytes->len, true};
        rh_bound_learn(s->f->cache, &in);
        s->answers[part] = rh_unpack_bytes(&in);
    }
    rh_funnel_report(s->f, s->work->stage, ++s->done, s->parts);
}

static void fork_parts(Sharing *s)
{
    rh_background_fold_wait(s->f->cache);
    RhProcessPool workers = {.count = s->parts,
                             .jobs = rh_funnel_jobs(s->f),
                             .timeout_s = rh_funnel_left_s(s->f),
                             .perform = perform_part,
                             .answer = keep_part,
                             .of_ranks = true,
                             .user = s};
    rh_process_pool_run(&workers);
}

void rh_funnel_share_work(RhFunnel *f, const RhSharedWork *work)
{
    int32_t jobs = rh_funnel_jobs(f), worth = work->count / MAX(work->process_least, 1);
    bool alone = jobs == 1 || worth < 2;
    Sharing s = {.f = f, .work = work, .parts = alone ? 1 : MIN(work->parts * jobs, worth)};
    s.answers = g_new0(GByteArray *, s.parts);
    if (!alone)
        fork_parts(&s);
    for (int32_t i = 0; i < s.parts; i++) {
        if (!s.answers[i] && !rh_funnel_out_of_time(f))
            s.answers[i] = find_part(&s, i);
        if (!s.answers[i])
            continue;
        if (s.answers[i]->len > 0)
            work->take(part_begin(&s, i), part_begin(&s, i + 1), s.answers[i], work->user);
        g_byte_array_unref(s.answers[i]);
    }
    g_free(s.answers);
}
