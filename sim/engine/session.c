#include "sim/engine/session.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/engine/exec/exec.h"
#include "sim/memory_ledger.h"

typedef struct {
    char *name;
    const RhProgram *program;
    int32_t *gpu_of_rank;
    double *peak_bytes, *end_bytes; /* per role */
    bool submitted, cancelled;
} Job;

struct RhSession {
    const RhPlatform *platform;
    RhEngineOptions options;
    GArray *jobs;         /* Job */
    int32_t *user_of_gpu; /* job submitted last on the GPU; -1: none */
    bool failed;
    /* set by the first run: */
    RhProgram *joined;       /* NULL when there is one job: its program */
    RhJoinedProgram *places; /* per job */
    RhTraffic *traffic;
    RhFold *fold_own; /* NULL when the options had one */
    RhFoldedNetwork *quotient_own;
    const RhFold *fold;
    const RhFoldedNetwork *quotient;
    RhExec *exec;
};

/* --- life --- */

RhSession *rh_session_open(const RhPlatform *platform, const RhEngineOptions *options)
{
    g_return_val_if_fail(platform && options, NULL);
    RhSession *s = g_new0(RhSession, 1);
    s->platform = platform;
    s->options = *options;
    s->jobs = g_array_new(FALSE, TRUE, sizeof(Job));
    int32_t gpus = rh_platform_gpus(platform);
    s->user_of_gpu = g_new(int32_t, gpus + 1);
    for (int32_t i = 0; i < gpus; i++)
        s->user_of_gpu[i] = -1;
    return s;
}

void rh_session_close(RhSession *s)
{
    if (!s)
        return;
    rh_exec_free(s->exec);
    rh_folded_network_free(s->quotient_own);
    rh_fold_free(s->fold_own);
    rh_traffic_free(s->traffic);
    g_free(s->places);
    rh_program_free(s->joined);
    for (uint32_t i = 0; i < s->jobs->len; i++) {
        Job *job = RH_AT(s->jobs, Job, i);
        g_free(job->name);
        g_free(job->gpu_of_rank);
        g_free(job->peak_bytes);
        g_free(job->end_bytes);
    }
    g_array_unref(s->jobs);
    g_free(s->user_of_gpu);
    g_free(s);
}

/* --- admission --- */

/* Checks that every rank of a role has a GPU of its own. */
static bool check_places(const RhSession *s, const Job *job, GError **error)
{
    int32_t gpus = rh_platform_gpus(s->platform);
    g_autofree bool *taken = g_new0(bool, gpus + 1);
    g_autofree int32_t *roles = rh_program_role_of_rank(job->program);
    for (int32_t r = 0; r < job->program->ranks_count; r++) {
        int32_t gpu = job->gpu_of_rank[r];
        if (roles[r] < 0)
            continue;
        if (gpu < 0 || gpu >= gpus)
            return rh_fail(error, RH_ERROR_INPUT, "%s: rank %d is on GPU %d of %d", job->name, r,
                           gpu, gpus);
        if (taken[gpu])
            return rh_fail(error, RH_ERROR_INPUT, "%s: two ranks are on GPU %d", job->name, gpu);
        taken[gpu] = true;
    }
    return true;
}

static void measure_memory(Job *job)
{
    uint32_t roles = job->program->roles->len;
    job->peak_bytes = g_new0(double, roles + 1);
    job->end_bytes = g_new0(double, roles + 1);
    for (uint32_t r = 0; r < roles; r++) {
        RhLedger ledger = rh_ledger_walk(job->program, (int32_t)r, RH_MEMORY_TIER_HBM);
        job->peak_bytes[r] = ledger.peak_bytes;
        job->end_bytes[r] = ledger.end_bytes;
    }
}

int32_t rh_session_admit(RhSession *s, const RhProgram *program, const int32_t *gpu_of_rank,
                         const char *name, GError **error)
{
    g_return_val_if_fail(s && program, -1);
    if (s->exec) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s: programs are admitted before the first run, as all of them together decide "
                "which ranks behave alike",
                name);
        return -1;
    }
    Job job = {.name = g_strdup(name), .program = program};
    job.gpu_of_rank = g_new(int32_t, program->ranks_count + 1);
    for (int32_t r = 0; r < program->ranks_count; r++)
        job.gpu_of_rank[r] = gpu_of_rank ? gpu_of_rank[r] : rh_program_gpu(program, r);
    if (!check_places(s, &job, error)) {
        g_free(job.name);
        g_free(job.gpu_of_rank);
        return -1;
    }
    measure_memory(&job);
    g_array_append_val(s->jobs, job);
    return (int32_t)s->jobs->len - 1;
}

/* --- all programs as one, folded --- */

static const RhProgram *join_programs(RhSession *s, GError **error)
{
    uint32_t count = s->jobs->len;
    s->places = g_new0(RhJoinedProgram, count + 1);
    const Job *first = RH_AT(s->jobs, Job, 0);
    g_autofree RhJoinPart *parts = g_new0(RhJoinPart, count + 1);
    for (uint32_t i = 0; i < count; i++)
        parts[i] =
            (RhJoinPart){RH_AT(s->jobs, Job, i)->program, RH_AT(s->jobs, Job, i)->gpu_of_rank};
    bool as_it_is = count == 1;
    for (int32_t r = 0; as_it_is && r < first->program->ranks_count; r++)
        as_it_is = first->gpu_of_rank[r] == rh_program_gpu(first->program, r);
    if (as_it_is) {
        s->places[0] = (RhJoinedProgram){.ranks_count = first->program->ranks_count,
                                         .roles_count = (int32_t)first->program->roles->len};
        return first->program;
    }
    if (s->platform->others->len > 0) {
        rh_fail(error, RH_ERROR_USAGE, "several jobs on %s: its nodes have several devices",
                s->platform->name);
        return NULL;
    }
    s->joined = rh_program_join(parts, (int32_t)count, s->platform->device, s->places, error);
    return s->joined;
}

/* Reuses the cached fold of an equivalent program; returns false when there is none. */
static bool take_fold(RhSession *s, const RhProgram *program)
{
    const RhCachedFold *like = s->options.folded ? rh_fold_cache_find(s->options.folded, program,
                                                                      s->options.alone, &s->traffic)
                                                 : NULL;
    s->fold = like ? like->fold : NULL;
    s->quotient = like ? like->quotient : NULL;
    return like != NULL;
}

static bool fold(RhSession *s, const RhProgram *program, GError **error)
{
    bool unfolded = s->options.unfolded || !rh_exec_folds(s->platform);
    if (!unfolded && take_fold(s, program))
        return true;
    s->traffic =
        rh_traffic_new(program, s->platform, unfolded, s->options.alone, rh_deadline_in(0), error);
    s->fold = s->fold_own = s->traffic ? rh_fold_new(s->traffic, unfolded, error) : NULL;
    s->quotient = s->quotient_own = s->fold ? rh_folded_network_new(s->traffic, s->fold) : NULL;
    return s->quotient != NULL;
}

static bool set_stage(RhSession *s, GError **error)
{
    if (s->exec)
        return true;
    if (s->jobs->len == 0)
        return rh_fail(error, RH_ERROR_INPUT, "a session without a program has nothing to run");
    const RhProgram *program = join_programs(s, error);
    if (!program || !fold(s, program, error))
        return false;
    RhExecInput input = {s->traffic,  s->fold,   s->quotient,
                         &s->options, s->places, (int32_t)s->jobs->len};
    s->exec = rh_exec_new(&input, error);
    return s->exec != NULL;
}

/* --- submissions --- */

/* Assigns GPUs to the job; those of jobs that are not running are taken over. */
static bool take_gpus(RhSession *s, int32_t index, GError **error)
{
    const Job *job = RH_AT(s->jobs, Job, index);
    if (job->program->bundles->len == 0) /* hosts do its work */
        return true;
    g_autofree int32_t *roles = rh_program_role_of_rank(job->program);
    for (int pass = 0; pass < 2; pass++) /* check, then assign */
        for (int32_t r = 0; r < job->program->ranks_count; r++) {
            int32_t *user = &s->user_of_gpu[roles[r] < 0 ? 0 : job->gpu_of_rank[r]];
            if (roles[r] < 0)
                continue;
            if (pass == 1)
                *user = index;
            else if (*user >= 0 && *user != index && rh_exec_is_under_way(s->exec, *user))
                return rh_fail(error, RH_ERROR_INPUT, "%s and %s are on GPU %d at the same time",
                               RH_AT(s->jobs, Job, *user)->name, job->name, job->gpu_of_rank[r]);
        }
    return true;
}

bool rh_session_submit(RhSession *s, RhSubmission what, GError **error)
{
    g_return_val_if_fail(s && what.job >= 0 && what.job < (int32_t)s->jobs->len, false);
    if (!set_stage(s, error))
        return false;
    Job *job = RH_AT(s->jobs, Job, what.job);
    if (rh_exec_is_under_way(s->exec, what.job))
        return rh_fail(error, RH_ERROR_INPUT, "%s is under way already", job->name);
    if (what.t_start_s < rh_exec_clock_s(s->exec))
        return rh_fail(error, RH_ERROR_INPUT, "%s is to start at %g s: it is %g s by now",
                       job->name, what.t_start_s, rh_exec_clock_s(s->exec));
    if (!take_gpus(s, what.job, error))
        return false;
    job->submitted = true;
    job->cancelled = false;
    rh_exec_submit(s->exec, what.job, what.t_start_s, what.steps, what.tell_steps);
    return true;
}

bool rh_session_post(RhSession *s, RhSessionMessage message, GError **error)
{
    g_return_val_if_fail(s && message.job >= 0 && message.job < (int32_t)s->jobs->len, false);
    if (!set_stage(s, error))
        return false;
    message.send += s->places[message.job].tasks_first;
    return rh_exec_post(s->exec, &message, error);
}

void rh_session_cancel(RhSession *s, int32_t job)
{
    g_return_if_fail(s && job >= 0 && job < (int32_t)s->jobs->len);
    RH_AT(s->jobs, Job, job)->cancelled = true;
    if (s->exec && rh_exec_is_under_way(s->exec, job))
        rh_exec_cancel(s->exec, job);
}

bool rh_session_run(RhSession *s, double until_s, RhSessionEvent *event, GError **error)
{
    g_return_val_if_fail(s && event, false);
    if (s->failed)
        return rh_fail(error, RH_ERROR_INPUT, "a session that has failed cannot go on");
    s->failed = !set_stage(s, error) || !rh_exec_run(s->exec, until_s, event, error);
    return !s->failed;
}

double rh_session_clock_s(const RhSession *s)
{
    return s->exec ? rh_exec_clock_s(s->exec) : 0;
}

void rh_session_begin_jitter(RhSession *s)
{
    rh_exec_begin_jitter(s->exec);
}

/* --- results --- */

RhRun *rh_session_report(RhSession *s, int32_t job)
{
    if (!s->exec || rh_exec_steps_done(s->exec, job) == 0)
        return NULL;
    const RhJoinedProgram *place = &s->places[job];
    RhRun *run = rh_exec_report(s->exec, job);
    for (uint32_t i = 0; i < run->performers->len; i++) {
        RH_AT(run->performers, RhPerformer, i)->role -= place->roles_first;
        RH_AT(run->performers, RhPerformer, i)->rank -= place->ranks_first;
    }
    for (uint32_t i = 0; i < run->timeline->len; i++)
        RH_AT(run->timeline, RhTaskInterval, i)->task -= place->tasks_first;
    return run;
}

double rh_session_least_s(const RhSession *s)
{
    return s->exec ? rh_exec_least_s(s->exec) : 0;
}

static double bytes_of_job(const RhSession *s, uint32_t index, int32_t gpu)
{
    const Job *job = RH_AT(s->jobs, Job, index);
    if (!job->submitted || job->cancelled)
        return 0;
    g_autofree int32_t *roles = rh_program_role_of_rank(job->program);
    const double *bytes =
        rh_exec_is_under_way(s->exec, (int32_t)index) ? job->peak_bytes : job->end_bytes;
    for (int32_t r = 0; r < job->program->ranks_count; r++)
        if (roles[r] >= 0 && job->gpu_of_rank[r] == gpu)
            return bytes[roles[r]];
    return 0;
}

double rh_session_gpu_bytes(const RhSession *s, int32_t gpu)
{
    double bytes = 0;
    for (uint32_t i = 0; s->exec && i < s->jobs->len; i++)
        bytes += bytes_of_job(s, i, gpu);
    return bytes;
}

static void clear_link(gpointer data)
{
    RhSessionLink *link = data;
    g_free(link->name);
    g_free(link->bytes);
}

/* Returns the number of links that a quotient link represents. */
static int32_t count_alike(const RhSession *s, RhLink link)
{
    int32_t count = 0, alike;
    RhLink first = rh_platform_link_turned(s->platform, s->traffic->block, link, &alike);
    const RhTrafficLink *links = RH_ELEMENTS(s->traffic->links, RhTrafficLink);
    guint at = 0;
    while (links[at].first != first)
        at++;
    for (guint i = 0; i < s->traffic->links->len; i++)
        if (s->fold->link_hash[i] == s->fold->link_hash[at])
            count += links[i].alike;
    return count;
}

static int more_often(const void *left, const void *right)
{
    const RhSessionLink *a = left, *b = right;
    return a->met == b->met ? g_strcmp0(a->name, b->name) : a->met < b->met ? 1 : -1;
}

GArray *rh_session_collective_calls(RhSession *s)
{
    GArray *links = g_array_new(FALSE, FALSE, sizeof(RhSessionLink));
    g_array_set_clear_func(links, clear_link);
    for (uint32_t i = 0; s->exec && s->fold_own && i < s->quotient->links->len; i++) {
        const RhFoldedLink *link = RH_AT(s->quotient->links, RhFoldedLink, i);
        RhSessionLink met = {.met = rh_exec_link_met(s->exec, (int32_t)i)};
        if (met.met == 0)
            continue;
        met.name = rh_platform_link_name(s->platform, link->link);
        met.alike = count_alike(s, link->link);
        met.bytes_per_s = rh_platform_link_bytes_per_s(s->platform, link->link);
        met.bytes = g_new0(double, s->jobs->len + 1);
        for (uint32_t j = 0; j < s->jobs->len; j++)
            met.bytes[j] = rh_exec_link_bytes(s->exec, (int32_t)j, (int32_t)i);
        g_array_append_val(links, met);
    }
    g_array_sort(links, more_often);
    return links;
}
