#include "strategies/rl/placements/placements.h"

#include <string.h>

#define ROW(name) &rh_rl_placement_##name,
static const RhRlPlacement *const rows[] = {RH_RL_PLACEMENTS(ROW) NULL};
#undef ROW

const RhRlPlacement *const *rh_rl_placements(void)
{
    return rows;
}

const char *const *rh_rl_placement_names(void)
{
    static const char *names[G_N_ELEMENTS(rows)];
    for (size_t i = 0; rows[i]; i++)
        names[i] = rows[i]->name;
    return names;
}

const RhRlPlacement *rh_rl_placement_by_name(const char *name)
{
    for (const RhRlPlacement *const *p = rows; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}
