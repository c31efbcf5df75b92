/* Objectives of plans. */
#include <string.h>

#include "strategies/search/plan.h"

static const char *const objective_names[] = {"time", "cost", "memory", "energy"};

const char *rh_objective_name(RhObjective objective)
{
    return objective_names[objective];
}

bool rh_objective_by_name(const char *name, RhObjective *out)
{
    for (int o = 0; o < RH_OBJECTIVE_LAST; o++)
        if (strcmp(objective_names[o], name) == 0) {
            *out = (RhObjective)o;
            return true;
        }
    return false;
}

double rh_objective_value(RhObjective objective, const RhRehearsal *r)
{
    return objective == RH_OBJECTIVE_MEMORY   ? r->memory.peak_bytes
           : objective == RH_OBJECTIVE_ENERGY ? r->energy.total_j
                                              : r->step_time_s;
}
