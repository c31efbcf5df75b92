#include "strategies/rl/emitters/emitters.h"

#include <string.h>

#define ROW(name) &rh_rl_emitter_##name,
static const RhRlEmitter *const rows[] = {RH_RL_EMITTERS(ROW) NULL};
#undef ROW

const char *const *rh_rl_emitter_names(void)
{
    static const char *names[G_N_ELEMENTS(rows)];
    for (size_t i = 0; rows[i]; i++)
        names[i] = rows[i]->name;
    return names;
}

const RhRlEmitter *rh_rl_emitter_by_name(const char *name)
{
    for (const RhRlEmitter *const *e = rows; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    return NULL;
}
