/* Restart from storage, on a node of a pool: hot spares are up, cold ones are booted and checked first. Where
 * the pool is empty, the job waits until a node is repaired. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    *out = (RhRunRecovery){.restart_s = rh_run_restart_after_s(state->run, failure)};
    if (failure->nodes_away == 0)
        return;
    rh_run_repair(state, failure);
    out->wait_s = rh_run_replace_s(state, failure->nodes_away);
}

const RhRunPolicy rh_run_policy_spares = {
    .name = "spares",
    .about = "restart from storage on a spare node; without one, wait for a repair",
    .takes_spares = true,
    .recover = recover};
