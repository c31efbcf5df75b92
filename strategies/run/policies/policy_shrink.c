/* Go on with fewer data-parallel replicas, and grow again at a checkpoint when nodes are repaired. The batch
 * stays, so that steps take longer. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    const RhTrainingRun *run = state->run;
    *out = (RhRunRecovery){.restart_s = rh_run_restart_after_s(run, failure)};
    if (failure->nodes_away == 0)
        return;
    rh_run_repair(state, failure);
    state->missing += failure->nodes_away;
    out->restart_s += run->reshape_s;
}

const RhRunPolicy rh_run_policy_shrink = {
    .name = "shrink",
    .about =
        "go on with fewer replicas from the last checkpoint, grow again when nodes are repaired",
    .goes_on = true,
    .recover = recover};
