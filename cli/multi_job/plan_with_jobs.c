#include "cli/multi_job/plan_with_jobs.h"

#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "strategies/search/colocation/plan_with_jobs.h"

bool rh_plan_with_jobs_check(const RhArguments *a, GError **error)
{
    if (a->besides->len == 0)
        return !a->on || rh_fail(error, RH_ERROR_USAGE,
                                 "--on places a job beside others: it goes with --beside");
    if (strcmp(a->objective, "memory") == 0 || strcmp(a->objective, "energy") == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--objective %s: what neighbours cost is time\nhelp: --beside goes with "
                       "--objective time or cost",
                       a->objective);
    if (g_strcmp0(a->stack, "any") == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--stack any plans once for each stack: it goes not with --beside\nhelp: "
                       "name the stack that it chose");
    return true;
}

RhPlan *rh_plan_with_jobs_of(const RhArguments *a, const RhInputs *in, const RhPlanOptions *options,
                             GError **error)
{
    g_autofree int32_t *nodes = NULL;
    RhJobPlacement place = {.about = "as asked"};
    RhColocatedJob own = {.name = "this job", .c = &in->c};
    if (a->on && !rh_job_list_own_nodes(a, in, &nodes, &place.count, error))
        return NULL;
    own.nodes = place.nodes = nodes;
    own.nodes_count = place.count;
    g_auto(RhJobList) b = {0};
    rh_job_list_init(&b);
    g_array_append_val(b.jobs, own);
    if (!rh_job_list_load(a, in, &b, error) || !rh_job_list_apart(&b, in->c.platform, error))
        return NULL;
    rh_job_list_warn(&b);
    const RhColocatedJob *jobs = RH_ELEMENTS(b.jobs, RhColocatedJob);
    RhColocatedJobQuestion ask = {.others = jobs + 1,
                                  .others_count = (int32_t)b.jobs->len - 1,
                                  .service = b.service ? &b.service->background : NULL,
                                  .place = a->on ? &place : NULL,
                                  .processes = rh_job_list_processes(a)};
    return rh_plan_with_jobs(&in->c, options, &ask, error);
}
