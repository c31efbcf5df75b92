#pragma once
/* Estimate of a layout's value after a change of the problem: the simulated value, scaled by the
 * change of its lower bound (docs/theory/search.md, "Sensitivity"). */
#include "strategies/search/plan.h"

/* Weight of a device on a platform with several, whose bounds place every kernel on the fastest. */
typedef struct {
    double kernels_s;      /* of the mean rank, were all GPUs this device */
    double faster, slower; /* how much of a change of its kernels the step makes: 0 to about 1 */
} RhDeviceWeight;

/* A layout before the change. */
typedef struct {
    RhLayout layout;
    RhObjective objective;
    const RhProblem *c;      /* borrowed */
    double step_s;           /* rehearsed */
    RhPowerTimes times;      /* of energy: of the mean GPU, rehearsed */
    double bound_s;          /* of its step; 0: it is not legal */
    RhPowerTimes bounded;    /* of energy: the times that its bound has */
    double value;            /* what the objective has least of: s, USD, bytes or J */
    RhDeviceWeight *devices; /* of several; else NULL; owned */
} RhUnperturbed;

/* `step_s` and `energy` as rehearsed in `c`, which must outlive it; money that is not known is
 * seconds. Of several devices it rehearses the layout with the GPUs of each slower, and faster:
 * errors are theirs. `out` is filled on failure too: rh_unperturbed_clear it in any case. */
bool rh_unperturbed(const RhProblem *c, RhObjective objective, const RhLayout *layout,
                    double step_s, const RhEnergy *energy, RhUnperturbed *out,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_unperturbed_clear(RhUnperturbed *before);
/* Returns the estimated value in the changed problem; NAN: it has none. */
double rh_perturbed_value(const RhUnperturbed *before, const RhProblem *changed);
