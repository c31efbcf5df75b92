#include "strategies/search/rehearsals/step_perturbation_spread.h"

#include <math.h>

/* Relative change of kernel times: larger than the rounding of flows (6e-11), too small to
 * notice. */
#define NUDGE_FRAC   1e-10
#define NUDGES_COUNT 6

bool rh_step_spread(RhIsolatedRuns *apart, const RhRehearsalNote *note, double step_s,
                    const RhEngineOptions *options, int32_t jobs, RhStepSpread *out, GError **error)
{
    RhRehearsalNote notes[NUDGES_COUNT];
    RhEngineOptions each[NUDGES_COUNT];
    RhRun *runs[NUDGES_COUNT] = {NULL};
    GError *errors[NUDGES_COUNT] = {NULL}, *failure = NULL;
    *out = (RhStepSpread){0, 0};
    for (int32_t k = 0; k < NUDGES_COUNT; k++) {
        notes[k] = *note;
        each[k] = *options;
        each[k].nudge_frac = (k + 1) * NUDGE_FRAC;
    }
    rh_isolated_run_batch(apart, &(RhIsolatedBatch){.count = NUDGES_COUNT,
                                                    .jobs = jobs,
                                                    .notes = notes,
                                                    .options = each,
                                                    .options_each = true,
                                                    .out = runs,
                                                    .errors = errors});
    for (int32_t k = 0; k < NUDGES_COUNT; k++) {
        double moved_frac = runs[k] ? runs[k]->step_time_s / step_s - 1 : 0;
        out->least_frac = fmin(out->least_frac, moved_frac);
        out->most_frac = fmax(out->most_frac, moved_frac);
        if (!failure)
            failure = g_steal_pointer(&errors[k]);
        g_clear_error(&errors[k]);
        rh_run_free(runs[k]);
    }
    if (failure)
        g_propagate_error(error, failure);
    return failure == NULL;
}

bool rh_spread_explains(RhStepSpread spread, double apart_frac)
{
    double width_frac = spread.most_frac - spread.least_frac;
    return apart_frac >= spread.least_frac - width_frac &&
           apart_frac <= spread.most_frac + width_frac;
}
