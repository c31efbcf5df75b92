/* Replica groups that go on: the group that lost a node restarts alone and takes the weights of another
 * (torchft, FT-HSDP); the others miss its share of the batch, and nothing is done twice. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    const RhTrainingRun *run = state->run;
    *out = (RhRunRecovery){.restart_s = run->reshape_s, .keeps_work = true};
    if (failure->by_pool)
        return;
    double away_s = run->startup_s + run->memory_read_s;
    if (failure->nodes_away > 0 && !run->spares_endless)
        away_s += failure->repair_s;
    int32_t groups = (MAX(failure->nodes_away, 1) + run->group_nodes - 1) / run->group_nodes;
    state->missing += groups * run->group_nodes;
    rh_events_add(state->events, state->t_s + away_s, RH_RUN_GROUP_BACK, groups * run->group_nodes);
}

const RhRunPolicy rh_run_policy_groups = {
    .name = "groups",
    .about = "replica groups go on without the one that failed, until it has caught up",
    .goes_on = true,
    .joins_any_time = true,
    .recover = recover};
