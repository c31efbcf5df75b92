#pragma once
/* Judges a measured run before a prediction stands beside it: does the log belong to the job that
 * is named, and can any machine have run it so? */
#include "strategies/train/train.h"
#include "validate/runs/run_log.h"

/* Do batch, sequence, GPUs and sizes of the model agree with what the log says of them? A model's
 * parameters may differ by its embeddings, which some frameworks leave out. RH_ERROR_INPUT with the
 * line of the log; `launch` said the job (NULL: options). */
bool rh_run_log_is_of(const RhRunLog *log, const RhProblem *c, const char *launch,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns what no run of the job can be (char*, owned): more products than the data sheet allows,
 * more memory than the GPU has, less than the layout's weights and optimizer, FLOP/s that are not
 * the job's. Empty: nothing. */
GPtrArray *rh_run_log_findings(const RhRunLog *log, const RhProblem *c, const RhLayout *layout);
