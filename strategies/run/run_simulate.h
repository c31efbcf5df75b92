#pragma once
/* One replication of a run, from event to event: compute and checkpoint in closed form until something
 * fails, then undetected, waiting, restarting. */
#include "strategies/run/run_state.h"

/* `every_s` is the work between two checkpoints. */
RhRunOutcome rh_run_simulate(const RhTrainingRun *run, double every_s, int32_t replication);
/* Draws a run and tells in `spans` (RhRunInterval) when it did not compute. A policy with a run of
 * its own tells none. */
RhRunOutcome rh_run_simulate_spans(const RhTrainingRun *run, double every_s, int32_t replication,
                                   GArray *spans);
