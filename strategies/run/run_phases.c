#include "strategies/run/run_phases.h"

#include <math.h>

double rh_run_phases_sum(RhRunPhase *phases, int32_t count)
{
    double work_s = 0;
    for (int32_t i = 0; i < count; i++) {
        phases[i].steps = ceil(phases[i].tokens / phases[i].step_tokens * (1 - 1e-12));
        phases[i].work_s = phases[i].steps * phases[i].step_s;
        work_s += phases[i].work_s;
    }
    return work_s;
}

double rh_layer_drop_keep_frac(double last, double rate, double steps)
{
    double fading = rate * steps > 0 ? -expm1(-rate * steps) / (rate * steps) : 1;
    return (1 + last + (1 - last) * fading) / 2;
}

double rh_layer_drop_step_s(double step_s, double layers_frac, double keep_frac)
{
    return step_s * (1 - layers_frac * (1 - keep_frac));
}
