#include "strategies/run/policies/policies.h"

#include <string.h>

#define ROW(name) &rh_run_policy_##name,
static const RhRunPolicy *const rows[] = {RH_RUN_POLICIES(ROW) NULL};
#undef ROW

const RhRunPolicy *const *rh_run_policies(void)
{
    return rows;
}

const char *const *rh_run_policy_names(void)
{
    static const char *names[G_N_ELEMENTS(rows)];
    for (size_t i = 0; rows[i]; i++)
        names[i] = rows[i]->name;
    return names;
}

const RhRunPolicy *rh_run_policy_by_name(const char *name)
{
    for (const RhRunPolicy *const *p = rows; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}
