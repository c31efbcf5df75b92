#pragma once
/* A layout built and rehearsed by a deadline: building is done in the child, where it can be ended,
 * and again here once it is known to be quick enough. Private to this folder. */
#include "base/deadline.h"
#include "sim/engine/workers/isolated_run.h"
#include "strategies/train/train.h"

/* NULL and RH_ERROR_NO_ANSWER when options->timeout_s, from the call on, is not enough for both;
 * without a time-out it is built once. */
RhRun *rh_rehearse_by_deadline(const RhProblem *c, const RhLayout *layout,
                               const RhEngineOptions *options, RhProgram **program,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
