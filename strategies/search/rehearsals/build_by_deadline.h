#pragma once
/* Building and rehearsing a layout by a deadline. The program is built in a child, which can be
 * stopped, and again in this process once it is known to be quick enough. Private to this
 * folder. */
#include "base/deadline.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/train/train.h"

/* Builds and rehearses a layout. Fails with RH_ERROR_NO_ANSWER if options->timeout_s from the call
 * on is not enough for both; without a timeout it is built once. */
RhRun *rh_rehearse_by_deadline(const RhProblem *c, const RhLayout *layout,
                               const RhEngineOptions *options, RhProgram **program,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
