#pragma once
/* How far a step moves when next to nothing changes (docs/develop/engine.md, "Steps that are sensitive"). */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/rehearsals/steady_state.h"

/* Over the step as it is: 0.001 is 0.1 % longer. */
typedef struct {
    double least_frac, most_frac; /* least <= 0 <= most */
} RhStepSpread;

/* Performs a step in `apart`, of such notes, six times with kernels longer by some 1e-10,
 * `jobs` at once; as `options` say, by which it took `step_s` as it is. Fails as rh_isolated_run_batch does. */
bool rh_step_spread(RhIsolatedRuns *apart, const RhRehearsalNote *note, double step_s,
                    const RhEngineOptions *options, int32_t jobs, RhStepSpread *out,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* May a step that was performed otherwise be so much longer for this alone? It may lie beyond the spread by
 * as much as that is wide: seven values of a normal distribution span some 2.7 of its deviations. */
bool rh_spread_explains(RhStepSpread spread, double apart_frac);
