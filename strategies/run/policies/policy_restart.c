/* Restart from storage, on a replacement that the cluster always has. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    *out = (RhRunRecovery){.restart_s = rh_run_restart_after_s(state->run, failure)};
}

const RhRunPolicy rh_run_policy_restart = {
    .name = "restart",
    .about =
        "restart from storage; a node that fails is replaced at once from the cluster's others",
    .recover = recover};
