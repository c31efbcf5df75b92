/* Words of a row: its split of the GPUs and its steps ahead. */
#include "report/rl/rl_plan_report.h"

char *rh_report_rl_split(const RhRlEntry *e)
{
    return e->placement->shares_gpus ? g_strdup_printf("%d", e->trainer.gpus)
                                     : g_strdup_printf("%d:%d", e->trainer.gpus, e->servers.gpus);
}

char *rh_report_rl_ahead(const RhRlEntry *e)
{
    return e->placement->shares_gpus ? g_strdup("-") : g_strdup_printf("%g", e->ahead);
}
