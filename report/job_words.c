/* Words of a job that stand in several answers. */
#include "report/report.h"

char *rh_report_sharing(const RhJob *job)
{
    if (!rh_clients_share(&job->clients))
        return g_strdup("");
    return g_strdup_printf(", %d processes on each (%s)", job->clients.count,
                           rh_clients_kind_name(job->clients.kind));
}

char *rh_report_preference(const RhJob *job)
{
    return job->preference == RH_PREFERENCE_NONE
               ? g_strdup("")
               : g_strdup_printf(", %s: a sample is a pair", rh_preference_title(job->preference));
}
