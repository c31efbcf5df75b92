#include "strategies/rl/transports/transports.h"

#include <string.h>

#define ROW(name) &rh_weight_transport_##name,
static const RhWeightTransport *const rows[] = {RH_WEIGHT_TRANSPORTS(ROW) NULL};
#undef ROW

const char *const *rh_weight_transport_names(void)
{
    static const char *names[G_N_ELEMENTS(rows)];
    size_t count = 0;
    for (size_t i = 0; rows[i]; i++)
        if (!rows[i]->shared)
            names[count++] = rows[i]->name;
    return names;
}

const RhWeightTransport *rh_weight_transport_by_name(const char *name)
{
    for (const RhWeightTransport *const *t = rows; *t; t++)
        if (strcmp((*t)->name, name) == 0)
            return *t;
    return NULL;
}
