#include "strategies/search/perturbed_estimate.h"

#include <math.h>

#include "strategies/search/rehearsals/run_metrics.h"

static double bound_s(const RhProblem *c, const RhLayout *layout)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    return rh_segment_graph_s(cache, layout);
}

/* Price of a second; 1 where it is not known, so that seconds stand for money. */
static double usd_per_s(const RhProblem *c)
{
    double price = c->platform->price_usd_per_gpu_hour.value;
    return price > 0 ? price / 3600 * c->job.gpus : 1;
}

static double energy_j(const RhProblem *c, const RhPowerTimes *times)
{
    return rh_energy_of(c->platform, c->job.gpus, times).total_j;
}

/* --- several devices --- */

/* relative change of a device's speed by which the step's dependence on it is estimated */
#define PACE_CHANGE 1.1

static RhProblem on_platform(const RhProblem *c, const RhPlatform *platform)
{
    RhProblem other = *c;
    other.platform = platform;
    return other;
}

static double kernels_on_s(const RhProblem *c, const RhLayout *layout, int32_t device)
{
    g_autoptr(RhPlatform) alone = rh_platform_of_device(c->platform, device);
    RhProblem own = on_platform(c, alone);
    return rh_run_metrics_kernels_s(&own, layout);
}

/* Exponent with which the step depends on a device's kernels: ln step over ln kernels, from the
 * step with its GPUs at `pace` and the unchanged one of `step_s`. */
static bool step_exponent(const RhUnperturbed *b, double step_s, int32_t device, double pace,
                          double *weight, GError **error)
{
    g_autoptr(RhPlatform) changed = rh_platform_copy(b->c->platform);
    for (int32_t gpu = 0; gpu < b->c->job.gpus; gpu++)
        if (rh_platform_device_of(changed, gpu) == device)
            rh_platform_gpu_slow(changed, gpu, pace * rh_platform_gpu_speed(changed, gpu));
    RhProblem c = on_platform(b->c, changed);
    g_autoptr(RhRehearsal) r =
        rh_rehearse(&c, &b->layout, &(RhEngineOptions){0}, NULL, NULL, error);
    if (r)
        *weight = log(r->step_time_s / step_s) / -log(pace);
    return r != NULL;
}

static bool weigh_devices(RhUnperturbed *b, GError **error)
{
    int32_t count = rh_platform_devices_count(b->c->platform);
    if (count == 1)
        return true;
    g_autoptr(RhRehearsal) r =
        rh_rehearse(b->c, &b->layout, &(RhEngineOptions){0}, NULL, NULL, error);
    b->devices = g_new0(RhDeviceWeight, count);
    for (int32_t i = 0; r && i < count; i++) {
        RhDeviceWeight *w = &b->devices[i];
        w->kernels_s = kernels_on_s(b->c, &b->layout, i);
        if (!step_exponent(b, r->step_time_s, i, PACE_CHANGE, &w->faster, error) ||
            !step_exponent(b, r->step_time_s, i, 1 / PACE_CHANGE, &w->slower, error))
            return false;
    }
    return r != NULL;
}

/* Factor on the step for the changes in devices, everything else being equal. */
static double devices_factor(const RhUnperturbed *b, const RhProblem *changed)
{
    double factor = 1;
    for (int32_t i = 0; i < rh_platform_devices_count(changed->platform); i++) {
        const RhDeviceWeight *w = &b->devices[i];
        double kernels = kernels_on_s(changed, &b->layout, i) / w->kernels_s;
        factor *= pow(kernels, kernels < 1 ? w->faster : w->slower);
    }
    return factor;
}

/* Factor on the step; `bound`: receives the bound that it is estimated by. */
static double step_factor(const RhUnperturbed *b, const RhProblem *changed, double *bound)
{
    g_autoptr(RhPlatform) rest =
        b->devices ? rh_platform_with_devices(changed->platform, b->c->platform) : NULL;
    RhProblem c = on_platform(changed, rest ? rest : changed->platform);
    *bound = bound_s(&c, &b->layout);
    if (*bound <= 0 || b->bound_s <= 0)
        return (double)NAN;
    double factor = *bound * rh_straggler_factor(changed) / b->bound_s;
    return b->devices ? factor * devices_factor(b, changed) : factor;
}

bool rh_unperturbed(const RhProblem *c, RhObjective objective, const RhLayout *layout,
                    double step_s, const RhEnergy *energy, RhUnperturbed *out, GError **error)
{
    RhUnperturbed b = {.layout = *layout, .objective = objective, .c = c, .step_s = step_s};
    double bound = bound_s(c, layout);
    b.bound_s = bound * rh_straggler_factor(c);
    b.value = step_s;
    if (objective == RH_OBJECTIVE_COST)
        b.value = step_s * usd_per_s(c);
    if (objective == RH_OBJECTIVE_MEMORY)
        b.value = rh_train_memory(c, layout).peak_bytes;
    if (objective == RH_OBJECTIVE_ENERGY) {
        b.times = rh_power_times_of(c->platform, c->job.gpus, energy);
        b.bounded = rh_run_metrics_bound_times(c, layout, bound);
        b.value = energy_j(c, &b.times);
    }
    bool fine = objective == RH_OBJECTIVE_MEMORY || weigh_devices(&b, error);
    *out = b;
    return fine;
}

void rh_unperturbed_clear(RhUnperturbed *before)
{
    g_clear_pointer(&before->devices, g_free);
}

/* Times in power states, scaled to the step in the proportions of its bound. */
static RhPowerTimes moved_times(const RhUnperturbed *b, const RhProblem *changed, double bound,
                                double step_s)
{
    RhPowerTimes now = rh_run_metrics_bound_times(changed, &b->layout, bound);
    double sum_s = 0;
    for (int state = 0; state < RH_POWER_LAST; state++) {
        double more_s = now.state_s[state] - b->bounded.state_s[state];
        now.state_s[state] = fmax(b->times.state_s[state] + more_s, 0);
        sum_s += now.state_s[state];
    }
    for (int state = 0; state < RH_POWER_LAST && sum_s > 0; state++)
        now.state_s[state] *= step_s / sum_s;
    return now;
}

double rh_perturbed_value(const RhUnperturbed *before, const RhProblem *changed)
{
    double bound = 0;
    if (before->objective == RH_OBJECTIVE_MEMORY)
        return rh_train_memory(changed, &before->layout).peak_bytes;
    double step_s = before->step_s * step_factor(before, changed, &bound);
    if (isnan(step_s) || before->objective == RH_OBJECTIVE_TIME)
        return step_s;
    if (before->objective == RH_OBJECTIVE_COST)
        return step_s * usd_per_s(changed);
    RhPowerTimes times = moved_times(before, changed, bound, step_s);
    return energy_j(changed, &times);
}
