#pragma once
/* The table of algorithms: the RhRlAlgorithm rh_rl_algorithm_NAME that a file here defines. A new
 * one is its file and a line here; the first is the default. */
#include "strategies/rl/rl_job.h"

#define RH_RL_ALGORITHMS(ROW)                                                                      \
    ROW(grpo)                                                                                      \
    ROW(dapo)                                                                                      \
    ROW(rloo)                                                                                      \
    ROW(ppo)

#define RH_RL_ALGORITHM_ROW(name) extern const RhRlAlgorithm rh_rl_algorithm_##name;
RH_RL_ALGORITHMS(RH_RL_ALGORITHM_ROW)
#undef RH_RL_ALGORITHM_ROW

/* NULL-ended. */
const char *const *rh_rl_algorithm_names(void);
/* NULL: there is none of that name. */
const RhRlAlgorithm *rh_rl_algorithm_by_name(const char *name);
