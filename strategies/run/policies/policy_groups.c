/* Replica groups that go on: the group that lost a node restarts alone and takes the weights of another
 * (torchft, FT-HSDP); the others miss its share of the batch, and nothing is done twice. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, bool node_away, RhRunRecovery *out)
{
    const RhTrainingRun *run = state->run;
    *out = (RhRunRecovery){.restart_s = run->reshape_s, .keeps_work = true};
    double away_s = run->startup_s + run->memory_read_s;
    if (node_away && !run->spares_endless)
        away_s += run->repair_s;
    state->missing += run->group_nodes;
    rh_events_add(state->events, state->t_s + away_s, RH_RUN_GROUP_BACK, run->group_nodes);
}

const RhRunPolicy rh_run_policy_groups = {
    .name = "groups",
    .about = "replica groups go on without the one that failed, until it has caught up",
    .goes_on = true,
    .joins_any_time = true,
    .recover = recover};
