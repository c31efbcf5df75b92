/* The table of schedulers. */
#include "strategies/serve/schedulers/schedulers.h"

#include <string.h>

#define ROW(name) &rh_scheduler_##name,
static const RhScheduler *const rows[] = {RH_SCHEDULERS(ROW)};
#undef ROW

const RhScheduler *rh_scheduler_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}
