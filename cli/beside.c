#include "cli/beside.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/job_file.h"
#include "cli/output.h"
#include "cli/service_file.h"
#include "cli/terminal.h"
#include "report/together.h"

/* The nodes of the job on the command line: --on, or the first ones. */
static bool own_nodes(const RhArguments *a, const RhInputs *in, int32_t **nodes, int32_t *count,
                      GError **error)
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
static bool check_service_apart(const RhServiceGuest *service, const RhNeighbour *jobs,
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

static bool check_apart(const RhNeighbour *jobs, uint32_t count, int32_t nodes, GError **error)
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

static RhNeighbour neighbour_of(const RhJobFile *file)
{
    return (RhNeighbour){.name = file->name,
                         .c = &file->c,
                         .layout = file->layout,
                         .nodes = file->nodes,
                         .nodes_count = file->nodes_count,
                         .t_start_s = file->t_start_s,
                         .steps = file->steps};
}

static bool write_files(const RhArguments *a, const char *json, const char *text, GError **error)
{
    RhPage page = {.command = "simulate --beside", .answer = text, .json = json};
    return rh_outputs_write_page(a->outputs, &page, error);
}

/* What the command line and its files name. */
typedef struct {
    GPtrArray *files; /* RhJobFile */
    GArray *jobs;     /* RhNeighbour */
    RhServiceFile *service;
} Besides;

static int answer(const RhArguments *a, const RhInputs *in, const Besides *b, GError **error)
{
    const RhNeighbour *jobs = (const RhNeighbour *)(void *)b->jobs->data;
    RhEngineOptions options = {
        .unfolded = a->unfolded, .seed = (uint64_t)a->seed, .timeout_s = a->timeout_s};
    int32_t processes = a->jobs > 0 ? (int32_t)a->jobs : (int32_t)g_get_num_processors();
    const RhServiceFile *s = b->service;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    g_autoptr(RhNeighbourhood) n = rh_neighbours_rehearse(
        jobs, (int32_t)b->jobs->len, s ? &s->guest : NULL, &options, processes, error);
    rh_terminal_progress_end();
    if (!n)
        return 3;
    RhTogetherService told = {0};
    if (s)
        told = (RhTogetherService){&s->guest, s->workload, s->deployment, s->asked->spec,
                                   s->asked->arrivals};
    RhTogetherQuestion q = {&in->question, jobs, s ? &told : NULL};
    g_autofree char *json = rh_report_together_json(&q, n);
    g_autofree char *text = rh_report_together_text(&q, n);
    if (!write_files(a, json, text, error))
        return 3;
    fputs(a->json ? json : text, stdout);
    return 0;
}

static bool load_file(const char *path, const RhArguments *a, const RhInputs *in, Besides *b,
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
    RhNeighbour job = neighbour_of(file);
    g_ptr_array_add(b->files, file);
    g_array_append_val(b->jobs, job);
    return true;
}

static int run(const RhArguments *a, const RhInputs *in, Besides *b, GError **error)
{
    for (guint i = 0; i < a->besides->len; i++)
        if (!load_file(g_ptr_array_index(a->besides, i), a, in, b, error))
            return 3;
    const RhNeighbour *all = (const RhNeighbour *)(void *)b->jobs->data;
    if (!check_apart(all, b->jobs->len, in->c.platform->nodes_count, error) ||
        !check_service_apart(b->service ? &b->service->guest : NULL, all, b->jobs->len, error))
        return 2;
    return answer(a, in, b, error);
}

int rh_beside_run(const RhArguments *a, const RhInputs *in, const RhLayout *layout, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (a->trace || a->jitter_frac > 0) {
        rh_fail(error, RH_ERROR_USAGE, "--beside goes with neither --trace nor --jitter");
        return 2;
    }
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    g_autofree int32_t *nodes = NULL;
    RhNeighbour own = {
        .name = "this job", .c = &in->c, .layout = *layout, .steps = (int32_t)a->steps};
    if (!own_nodes(a, in, &nodes, &own.nodes_count, error))
        return 2;
    own.nodes = nodes;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func((GDestroyNotify)rh_job_file_free);
    g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(RhNeighbour));
    g_array_append_val(jobs, own);
    Besides b = {files, jobs, NULL};
    int status = run(a, in, &b, error);
    rh_service_file_free(b.service);
    return status;
}
