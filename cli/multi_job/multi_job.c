#include "cli/multi_job/multi_job.h"

#include <stdio.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "cli/multi_job/job_list.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/unused_settings.h"
#include "report/json/json_facts.h"
#include "report/multi_job.h"

static bool write_files(const RhArguments *a, const RhInputs *in, const char *json,
                        const char *text, GError **error)
{
    g_autofree char *facts = rh_report_facts_json(&in->question);
    RhPage page = {.command = "simulate --beside", .answer = text, .json = json, .facts = facts};
    return rh_outputs_write_page(a->outputs, &page, error);
}

static int answer(const RhArguments *a, const RhInputs *in, const RhJobList *b, GError **error)
{
    const RhColocatedJob *jobs = RH_ELEMENTS(b->jobs, RhColocatedJob);
    RhEngineOptions options = {
        .unfolded = a->unfolded, .seed = (uint64_t)a->seed, .timeout_s = a->timeout_s};
    const RhServiceFile *s = b->service;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    g_autoptr(RhColocatedJobs) n =
        rh_colocated_jobs_rehearse(jobs, (int32_t)b->jobs->len, s ? &s->background : NULL, &options,
                                   rh_job_list_processes(a), error);
    rh_terminal_progress_end();
    if (!n)
        return 3;
    RhMultiJobServiceAnswer told = {0};
    if (s)
        told = (RhMultiJobServiceAnswer){&s->background, s->workload, s->deployment, s->asked->spec,
                                         s->asked->arrivals};
    RhMultiJobInputs q = {&in->question, jobs, s ? &told : NULL};
    g_autofree char *json = rh_report_multi_job_json(&q, n);
    g_autofree char *text = rh_report_multi_job_text(&q, n);
    fputs(a->json ? json : text, stdout);
    rh_output_answered();
    RhJobListUnused idle = {a, &jobs->layout, jobs->nodes, jobs->nodes_count};
    rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &idle}, 1, rh_job_list_figures);
    return write_files(a, in, json, text, error) ? 0 : 3;
}

int rh_multi_job_run(const RhArguments *a, const RhInputs *in, const RhLayout *layout,
                     GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (a->trace || a->jitter_frac > 0) {
        rh_fail(error, RH_ERROR_USAGE, "--beside goes with neither --trace nor --jitter");
        return 2;
    }
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    g_autofree int32_t *nodes = NULL;
    RhColocatedJob own = {
        .name = "this job", .c = &in->c, .layout = *layout, .steps = (int32_t)a->steps};
    if (!rh_job_list_own_nodes(a, in, &nodes, &own.nodes_count, error))
        return 2;
    own.nodes = nodes;
    g_auto(RhJobList) b = {0};
    rh_job_list_init(&b);
    g_array_append_val(b.jobs, own);
    if (!rh_job_list_load(a, in, &b, error))
        return 3;
    rh_job_list_warn(&b);
    return rh_job_list_apart(&b, in->c.platform, error) ? answer(a, in, &b, error) : 2;
}
