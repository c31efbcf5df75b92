#include "strategies/search/sensitive.h"

#include <math.h>

/* Above what flows are rounded by (6e-11), below what anybody would see. */
#define NUDGE_FRAC   1e-10
#define NUDGES_COUNT 6

/* 0 when it failed. */
static double nudged_step_s(RhApart *apart, const RhLayout *layout, const RhEngineOptions *options,
                            double nudge_frac, GError **error)
{
    RhEngineOptions nudged = *options;
    nudged.nudge_frac = nudge_frac;
    g_autoptr(RhRun) run = NULL;
    rh_apart_run(apart, 1, 1, layout, &nudged, &run, error, NULL, NULL);
    return run ? run->step_time_s : 0;
}

bool rh_step_spread(RhApart *apart, const RhLayout *layout, const RhEngineOptions *options,
                    RhSpread *out, GError **error)
{
    *out = (RhSpread){0, 0};
    double step_s = nudged_step_s(apart, layout, options, 0, error);
    for (int32_t k = 1; k <= NUDGES_COUNT && step_s > 0; k++) {
        double nudged_s = nudged_step_s(apart, layout, options, k * NUDGE_FRAC, error);
        if (nudged_s <= 0)
            return false;
        out->least_frac = fmin(out->least_frac, nudged_s / step_s - 1);
        out->most_frac = fmax(out->most_frac, nudged_s / step_s - 1);
    }
    return step_s > 0;
}

bool rh_spread_explains(RhSpread spread, double apart_frac)
{
    double width_frac = spread.most_frac - spread.least_frac;
    return apart_frac >= spread.least_frac - width_frac &&
           apart_frac <= spread.most_frac + width_frac;
}
