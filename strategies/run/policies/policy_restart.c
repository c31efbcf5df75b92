/* Restart from storage, on a replacement that the cluster always has. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    *out = (RhRunRecovery){.restart_s = rh_run_restart_after_s(state->run, failure)};
}

const RhRunPolicy rh_run_policy_restart = {
    .name = "restart",
    .about = "reload from storage; another node of the cluster replaces a failed one at once",
    .recover = recover};
