#pragma once
/* Sensitivity of a step to tiny changes (docs/develop/engine.md, "Steps that are sensitive"). */
#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/rehearsals/steady_state.h"

/* Relative change of the step time: 0.001 is 0.1 % longer. */
typedef struct {
    double least_frac, most_frac; /* least <= 0 <= most */
} RhStepSpread;

/* Simulates a step six times in `apart` with kernels longer by some 1e-10, `jobs` at once, with
 * these options. `step_s` is its time without the change. Fails as rh_isolated_run_batch does. */
bool rh_step_spread(RhIsolatedRuns *apart, const RhRehearsalNote *note, double step_s,
                    const RhEngineOptions *options, int32_t jobs, RhStepSpread *out,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does the spread explain a relative difference of `apart_frac`? It may lie outside of the spread
 * by the width of the spread: seven values of a normal distribution span some 2.7 of its
 * deviations. */
bool rh_spread_explains(RhStepSpread spread, double apart_frac);
