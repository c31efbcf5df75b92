#pragma once
/* A question of `run`, read from its options: the step, the failures, the checkpoints, all before anything is drawn. */
#include "cli/inputs/inputs.h"
#include "cli/run/run_options.h"
#include "strategies/run/run_statistics.h"
#include "strategies/search/rehearsals/rehearse.h"

typedef struct {
    const RhArguments *a;
    RhInputs *in;
    RhCheckpointWords words;
    RhCheckpointSetup checkpoint;
    RhTrainingRun run;
    RhFailureWords failures;
    RhSpotWords spot;
    GArray *speeds;          /* double, by replicas */
    GArray *layouts, *sizes; /* RhElasticSize, and RhRunSize of each */
    GArray *phases;          /* RhRunPhase */
    RhRehearsal *r;          /* NULL: the step's time is given */
    RhLayout layout;
} RhRunQuery;

/* Reads all options but the outputs, and rehearses or plans the step. Returns 0, or the exit status with an error.
 * The arguments are borrowed; clear in either case. */
int rh_run_query_open(const RhArguments *arguments, RhRunQuery *out,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_run_query_clear(RhRunQuery *query);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhRunQuery, rh_run_query_clear)
/* Dollars of a GPU and hour, those of a result where the trace has prices; 0: unknown. */
double rh_run_query_usd_per_gpu_hour(const RhRunQuery *query, const RhRunResult *result);
