/* Restart from copies in the memory of peers, taken more often than checkpoints (Gemini, SOSP 2023). A
 * failure of one node at a time is assumed, so that a copy is always there. */
#include "strategies/run/policies/policies.h"

static void recover(RhRunState *state, bool node_away, RhRunRecovery *out)
{
    const RhTrainingRun *run = state->run;
    *out = (RhRunRecovery){.restart_s = run->startup_s + run->memory_read_s,
                           .keeps_work = true,
                           .keeps_every_s = run->memory_every_s};
    if (!node_away || run->spares_endless)
        return;
    rh_run_repair(state, 1);
    out->wait_s = rh_run_replace_s(state);
}

const RhRunPolicy rh_run_policy_memory = {
    .name = "memory",
    .about = "restart from copies in the memory of peers; storage is written as before",
    .takes_spares = true,
    .recover = recover};
