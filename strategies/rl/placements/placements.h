#pragma once
/* The table of placements: the RhRlPlacement rh_rl_placement_NAME that a file here defines, in the
 * order in which answers list them. A new one is its file and a line here. */
#include "strategies/rl/rl_step.h"

#define RH_RL_PLACEMENTS(ROW)                                                                      \
    ROW(colocated)                                                                                 \
    ROW(apart)                                                                                     \
    ROW(one_off)                                                                                   \
    ROW(async)

#define RH_RL_PLACEMENT_ROW(name) extern const RhRlPlacement rh_rl_placement_##name;
RH_RL_PLACEMENTS(RH_RL_PLACEMENT_ROW)
#undef RH_RL_PLACEMENT_ROW

/* NULL-ended. */
const RhRlPlacement *const *rh_rl_placements(void);
const char *const *rh_rl_placement_names(void);
/* NULL: there is none of that name. */
const RhRlPlacement *rh_rl_placement_by_name(const char *name);
