/* Restart from copies in the memory of the next node, taken more often than checkpoints (Gemini, SOSP 2023). A
 * failure that takes several nodes takes both copies: then storage is read. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, const RhRunFailure *failure, RhRunRecovery *out)
{
    const RhTrainingRun *run = state->run;
    if (failure->nodes_away > 1)
        *out = (RhRunRecovery){.restart_s = rh_run_restart_s(run)};
    else
        *out = (RhRunRecovery){.restart_s = run->startup_s + run->memory_read_s,
                               .keeps_work = true,
                               .keeps_every_s = run->memory_every_s};
    if (failure->nodes_away == 0 || run->spares_endless)
        return;
    rh_run_repair(state, failure);
    out->wait_s = rh_run_replace_s(state, failure->nodes_away);
}

const RhRunPolicy rh_run_policy_memory = {
    .name = "memory",
    .about = "restart from copies in the memory of peers; storage is written as before",
    .takes_spares = true,
    .recover = recover};
