#pragma once
/* The table of policies: the RhRunPolicy rh_run_policy_NAME that a file here defines. A new one is its
 * file and a line here; the first is the default. */
#include "strategies/run/run_state.h"

#define RH_RUN_POLICIES(ROW)                                                                       \
    ROW(restart)                                                                                   \
    ROW(spares)                                                                                    \
    ROW(memory)                                                                                    \
    ROW(shrink)                                                                                    \
    ROW(groups)                                                                                    \
    ROW(redundant)

#define RH_RUN_POLICY_ROW(name) extern const RhRunPolicy rh_run_policy_##name;
RH_RUN_POLICIES(RH_RUN_POLICY_ROW)
#undef RH_RUN_POLICY_ROW

/* NULL-ended. */
const RhRunPolicy *const *rh_run_policies(void);
const char *const *rh_run_policy_names(void);
/* NULL: there is none of that name. */
const RhRunPolicy *rh_run_policy_by_name(const char *name);
