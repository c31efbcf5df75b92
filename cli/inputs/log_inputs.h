#pragma once
/* The job whose measured run a log is: options or --from say it, and the log fills in what it says
 * itself. */
#include "cli/inputs/inputs.h"
#include "validate/runs/run_log.h"

/* Does a file hold a log of a training run? */
bool rh_log_is(const char *path);
/* Loads the inputs and the layout of the log's job, and checks that the log is of it.
 * RH_ERROR_USAGE where something is not said. */
RhInputs *rh_log_inputs(const RhRunLog *log, const RhArguments *arguments, RhLayout *layout,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
