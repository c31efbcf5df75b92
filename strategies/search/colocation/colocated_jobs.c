#include "strategies/search/colocation/colocated_jobs.h"

#include "base/error.h"
#include "base/garray_access.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* Builds the job's program, with its GPUs moved to its nodes. */
static RhProgram *build(int32_t index, void *user, GError **error)
{
    const RhColocatedJob *job = &((const RhColocatedJob *)user)[index];
    RhProgram *p = rh_train_build(job->c, &job->layout, error);
    if (!p)
        return NULL;
    int32_t each = job->c->platform->gpus_per_node;
    int32_t *gpus = g_new(int32_t, p->ranks_count + 1);
    for (int32_t r = 0; r < p->ranks_count; r++) {
        int32_t gpu = rh_program_gpu(p, r);
        gpus[r] = job->nodes[gpu / each] * each + gpu % each;
    }
    g_free(p->gpu_of_rank);
    p->gpu_of_rank = gpus;
    return p;
}

static RhRehearsal *account(const RhColocatedJob *job, const RhRun *run)
{
    RhRehearsal *r = rh_run_metrics_new(job->c, &job->layout);
    rh_run_metrics_run(job->c, r, run);
    return r;
}

void rh_colocated_jobs_free(RhColocatedJobs *n)
{
    if (!n)
        return;
    for (uint32_t i = 0; i < n->jobs->len; i++) {
        rh_rehearsal_free(RH_AT(n->jobs, RhColocatedJobAnswer, i)->alone);
        rh_rehearsal_free(RH_AT(n->jobs, RhColocatedJobAnswer, i)->beside);
    }
    g_array_unref(n->jobs);
    rh_service_result_free(n->service_alone);
    rh_service_result_free(n->service_beside);
    rh_multi_job_free(n->raw);
    g_free(n);
}

static bool take_service(RhColocatedJobs *n, GError **error)
{
    n->service_alone = rh_background_service_answer(n->raw->background_alone);
    n->service_beside = rh_background_service_answer(n->raw->background_beside);
    return n->service_alone && n->service_beside
               ? true
               : rh_fail(error, RH_ERROR_INTERNAL, "the service's answer broke off");
}

RhColocatedJobs *rh_colocated_jobs_rehearse(const RhColocatedJob *jobs, int32_t count,
                                            const RhBackgroundService *service,
                                            const RhEngineOptions *options, int32_t processes,
                                            GError **error)
{
    g_autofree RhMultiJobPart *asked = g_new0(RhMultiJobPart, count + 1);
    for (int32_t i = 0; i < count; i++)
        asked[i] = (RhMultiJobPart){jobs[i].name, jobs[i].t_start_s, jobs[i].steps};
    RhMultiJobService background = rh_background_service(service);
    RhMultiJobQuestion ask = {asked, count, build, (void *)jobs, service ? &background : NULL};
    RhMultiJobRun *raw =
        rh_multi_job_rehearse(&ask, jobs[0].c->platform, options, processes, error);
    if (!raw)
        return NULL;
    RhColocatedJobs *n = g_new0(RhColocatedJobs, 1);
    n->raw = raw;
    n->links = raw->links;
    n->t_end_s = raw->t_end_s;
    n->jobs = g_array_new(FALSE, TRUE, sizeof(RhColocatedJobAnswer));
    for (int32_t i = 0; i < count; i++) {
        const RhMultiJobResult *part = RH_AT(raw->parts, RhMultiJobResult, i);
        RhColocatedJobAnswer got = {.alone = account(&jobs[i], part->alone),
                                    .beside = account(&jobs[i], part->beside),
                                    .performed = part->performed};
        for (uint32_t k = 0; k < part->step_times->len; k++)
            got.worst_step_s = MAX(got.worst_step_s, *RH_AT(part->step_times, double, k));
        got.worst_step_s *= rh_straggler_factor(jobs[i].c);
        g_array_append_val(n->jobs, got);
    }
    if (service && !take_service(n, error))
        g_clear_pointer(&n, rh_colocated_jobs_free);
    return n;
}
