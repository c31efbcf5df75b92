#include "strategies/rl/algorithms/algorithms.h"

#include <string.h>

#define ROW(name) &rh_rl_algorithm_##name,
static const RhRlAlgorithm *const rows[] = {RH_RL_ALGORITHMS(ROW) NULL};
#undef ROW

const char *const *rh_rl_algorithm_names(void)
{
    static const char *names[G_N_ELEMENTS(rows)];
    for (size_t i = 0; rows[i]; i++)
        names[i] = rows[i]->name;
    return names;
}

const RhRlAlgorithm *rh_rl_algorithm_by_name(const char *name)
{
    for (const RhRlAlgorithm *const *a = rows; *a; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}
