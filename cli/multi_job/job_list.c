#include "cli/multi_job/job_list.h"

#include "base/error.h"
#include "base/garray_access.h"
#include "base/units.h"
#include "cli/output/terminal.h"
#include "cli/unused_settings.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/train.h"

/* The nodes of the job on the command line: --on, or the first ones. */
bool rh_job_list_own_nodes(const RhArguments *a, const RhInputs *in, int32_t **nodes,
                           int32_t *count, GError **error)
{
    int32_t each = in->c.platform->gpus_per_node;
    int32_t needed = (in->c.job.gpus + each - 1) / each;
    if (!a->on) {
        *count = needed;
        *nodes = g_new(int32_t, needed);
        for (int32_t i = 0; i < needed; i++)
            (*nodes)[i] = i;
        return true;
    }
    if (!rh_nodes_parse(a->on, in->c.platform->nodes_count, nodes, count, error)) {
        g_prefix_error(error, "--on: ");
        return false;
    }
    if (*count == needed)
        return true;
    return rh_fail(
        error, RH_ERROR_USAGE,
        "--on names %d nodes, the job's %d GPUs need %d\nhelp: --gpus says how many GPUs "
        "the job has",
        *count, in->c.job.gpus, needed);
}

/* Two jobs at one node: an error that names both. */
static bool check_service_apart(const RhBackgroundService *service, const RhColocatedJob *jobs,
                                uint32_t count, GError **error)
{
    for (uint32_t i = 0; service && i < count; i++)
        for (int32_t k = 0; k < jobs[i].nodes_count; k++)
            for (int32_t n = 0; n < service->nodes_count; n++)
                if (jobs[i].nodes[k] == service->nodes[n])
                    return rh_fail(
                        error, RH_ERROR_USAGE,
                        "%s and %s are both on node %d\nhelp: --on NODES places the job of "
                        "the command line, \"nodes\" a service of a file",
                        jobs[i].name, service->name, service->nodes[n]);
    return true;
}

static bool check_apart(const RhColocatedJob *jobs, uint32_t count, int32_t nodes, GError **error)
{
    g_autofree int32_t *owner = g_new0(int32_t, nodes + 1);
    for (uint32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < jobs[i].nodes_count; k++) {
            int32_t *other = &owner[jobs[i].nodes[k]];
            if (*other)
                return rh_fail(error, RH_ERROR_USAGE,
                               "%s and %s are both on node %d\nhelp: --on NODES places the job of "
                               "the command line, --gpus says how many GPUs it has; \"nodes\" "
                               "places a job of a file",
                               jobs[*other - 1].name, jobs[i].name, jobs[i].nodes[k]);
            *other = (int32_t)i + 1;
        }
    return true;
}

static RhColocatedJob neighbour_of(const RhJobFile *file)
{
    return (RhColocatedJob){.name = file->name,
                            .c = &file->c,
                            .layout = file->layout,
                            .nodes = file->nodes,
                            .nodes_count = file->nodes_count,
                            .t_start_s = file->t_start_s,
                            .steps = file->steps};
}

static bool load_file(const char *path, const RhArguments *a, const RhInputs *in, RhJobList *b,
                      GError **error)
{
    if (rh_service_file_is(path)) {
        if (b->service)
            return rh_fail(error, RH_ERROR_USAGE, "%s: one service at most stands beside a job",
                           path);
        b->service = rh_service_file_load(path, in, a->seed, error);
        return b->service != NULL;
    }
    RhJobFile *file = rh_job_file_load(path, in, error);
    if (!file)
        return false;
    RhColocatedJob job = neighbour_of(file);
    g_ptr_array_add(b->files, file);
    g_array_append_val(b->jobs, job);
    return true;
}

int32_t rh_job_list_processes(const RhArguments *a)
{
    return a->jobs > 0 ? (int32_t)a->jobs : (int32_t)g_get_num_processors();
}

void rh_job_list_init(RhJobList *b)
{
    *b = (RhJobList){.files = g_ptr_array_new_with_free_func((GDestroyNotify)rh_job_file_free),
                     .jobs = g_array_new(FALSE, FALSE, sizeof(RhColocatedJob))};
}

void rh_job_list_clear(RhJobList *b)
{
    g_ptr_array_unref(b->files);
    g_array_unref(b->jobs);
    rh_service_file_free(b->service);
}

/* It is rehearsed all the same: what it would cost the others is told. */
static void warn_of_memory(const RhJobFile *job)
{
    RhTrainMemory memory = rh_train_memory(&job->c, &job->layout);
    double least_bytes = rh_train_memory_capacity(&job->c);
    g_autofree char *needs = rh_quantity_format(memory.peak_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *has = rh_quantity_format(least_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *line = NULL;
    if (memory.peak_bytes > least_bytes)
        line = g_strdup_printf("warning: %s would not run: its layout needs %s, a GPU has %s",
                               job->name, needs, has);
    else if (!rh_train_host_holds(&job->c, &memory))
        line = g_strdup_printf(
            "warning: %s would not run: its layout needs more memory than a host has", job->name);
    if (line)
        rh_terminal_hint(line);
}

void rh_job_list_warn(const RhJobList *b)
{
    for (guint i = 0; i < b->files->len; i++)
        warn_of_memory(g_ptr_array_index(b->files, i));
}

bool rh_job_list_load(const RhArguments *a, const RhInputs *in, RhJobList *b, GError **error)
{
    for (guint i = 0; i < a->besides->len; i++)
        if (!load_file(g_ptr_array_index(a->besides, i), a, in, b, error))
            return false;
    return true;
}

bool rh_job_list_apart(const RhJobList *b, const RhPlatform *platform, GError **error)
{
    const RhColocatedJob *jobs = RH_ELEMENTS(b->jobs, RhColocatedJob);
    return check_apart(jobs, b->jobs->len, platform->nodes_count, error) &&
           check_service_apart(b->service ? &b->service->background : NULL, jobs, b->jobs->len,
                               error);
}

/* --- words that change nothing --- */

static bool add_alone(GArray *out, const RhJobList *b)
{
    for (guint i = 0; i < b->jobs->len; i++) {
        const RhColocatedJob *job = &g_array_index(b->jobs, RhColocatedJob, i);
        g_autoptr(RhRehearsal) r = rh_rehearse_quick(job->c, &job->layout);
        if (!r)
            return false;
        rh_unused_settings_add_step(out, r);
    }
    return true;
}

static bool add_beside(GArray *out, const RhJobList *b, const RhArguments *a)
{
    RhEngineOptions options = {.unfolded = a->unfolded,
                               .seed = (uint64_t)a->seed,
                               .timeout_s = rh_terminal_left_s(a->timeout_s)};
    g_autoptr(RhColocatedJobs) n = rh_colocated_jobs_rehearse(
        RH_ELEMENTS(b->jobs, RhColocatedJob), (int32_t)b->jobs->len,
        b->service ? &b->service->background : NULL, &options, rh_job_list_processes(a), NULL);
    for (guint i = 0; n && i < n->jobs->len; i++) {
        const RhColocatedJobAnswer *job = &g_array_index(n->jobs, RhColocatedJobAnswer, i);
        rh_unused_settings_add_step(out, job->alone);
        rh_unused_settings_add_step(out, job->beside);
        g_array_append_val(out, job->worst_step_s);
    }
    const RhServiceResult *served[] = {n ? n->service_alone : NULL, n ? n->service_beside : NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(served); i++) {
        RhServiceMetrics o = served[i] ? rh_service_metrics(served[i], &b->service->asked->slos)
                                       : (RhServiceMetrics){0};
        rh_unused_settings_add_outcome(out, &o);
    }
    return n != NULL;
}

GArray *rh_job_list_figures(const RhInputs *in, bool cheap, const void *user)
{
    const RhJobListUnused *idle = user;
    g_auto(RhJobList) b = {0};
    rh_job_list_init(&b);
    RhColocatedJob own = {.name = "this job",
                          .c = &in->c,
                          .layout = *idle->layout,
                          .nodes = idle->nodes,
                          .nodes_count = idle->nodes_count,
                          .steps = (int32_t)MAX(idle->arguments->steps, 1)};
    for (int32_t i = 0; i < own.nodes_count; i++)
        if (own.nodes[i] >= in->c.platform->nodes_count)
            return NULL;
    g_array_append_val(b.jobs, own);
    if (in->c.job.global_batch < 1 || !rh_train_legal(&in->c, &own.layout, NULL) ||
        !rh_job_list_load(idle->arguments, in, &b, NULL))
        return NULL;
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(double));
    bool fine = cheap ? add_alone(out, &b) : add_beside(out, &b, idle->arguments);
    return fine ? g_steal_pointer(&out) : NULL;
}
