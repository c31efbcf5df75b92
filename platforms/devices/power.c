#include "platforms/devices/power.h"

#include <math.h>

#include "base/error.h"
#include "base/units.h"

static const char *const state_names[RH_POWER_LAST] = {"compute", "memory", "communication",
                                                       "idle"};

const char *rh_power_state_name(RhPowerState state)
{
    return (int)state >= 0 && state < RH_POWER_LAST ? state_names[state] : "none";
}

double rh_device_state_w(const RhDevice *device, RhPowerState state)
{
    double frac = device->curves.power_frac[state].value, most_w = rh_device_power_w(device);
    double full_w = device->power_w.value > 0 ? device->power_w.value : most_w;
    return fmin((frac > 0 ? frac : 1) * full_w, most_w);
}

/* Returns the power of a state, averaged over the GPUs' devices. */
static double mean_state_w(const RhPlatform *p, int32_t gpus, RhPowerState state)
{
    double sum_w = 0;
    if (rh_platform_devices_count(p) == 1)
        return rh_device_state_w(p->device, state);
    for (int32_t gpu = 0; gpu < gpus; gpu++)
        sum_w += rh_device_state_w(rh_platform_device(p, rh_platform_device_of(p, gpu)), state);
    return sum_w / gpus;
}

/* Number of nodes of so many GPUs. Part of a node has that share of the host's and the NICs' power,
 * as of the price: the rest does other work. */
static double nodes_of(const RhPlatform *p, int32_t gpus)
{
    return (double)gpus / p->gpus_per_node;
}

/* Returns the power of a host whose devices draw `devices_w` on average, summed over `gpus`: from
 * its idle power when they idle to its full power when they draw their maximum. */
static double host_w(const RhPlatform *p, int32_t gpus, double devices_w)
{
    double full_w = p->host_power_w.value, idle_w = p->host_idle_power_w.value;
    bool known = p->host_idle_power_w.tag != RH_TAG_NONE;
    double least_w = gpus * mean_state_w(p, gpus, RH_POWER_IDLE);
    double most_w = gpus * mean_state_w(p, gpus, RH_POWER_COMPUTE);
    if (!known || idle_w >= full_w || most_w <= least_w)
        return full_w;
    double share = (devices_w - least_w) / (most_w - least_w);
    return idle_w + (full_w - idle_w) * fmin(fmax(share, 0), 1);
}

bool rh_power_of_host_agrees(const RhPlatform *p, GError **error)
{
    const RhFact *full = &p->host_power_w, *idle = &p->host_idle_power_w;
    if (idle->tag == RH_TAG_NONE || full->tag == RH_TAG_NONE || idle->value <= full->value)
        return true;
    g_autofree char *rests = rh_quantity_format(idle->value, RH_QUANTITY_W, 3);
    g_autofree char *works = rh_quantity_format(full->value, RH_QUANTITY_W, 3);
    return rh_fail(
        error, RH_ERROR_USAGE,
        "host.idle_power is %s, host.power %s: a host at rest draws no more than at work", rests,
        works);
}

RhEnergy rh_energy_of(const RhPlatform *p, int32_t gpus, const RhPowerTimes *mean)
{
    RhEnergy e = {0};
    double seconds = 0, devices_j = 0, nodes = nodes_of(p, gpus);
    for (int state = 0; state < RH_POWER_LAST; state++) {
        seconds += mean->state_s[state];
        e.device_j[state] =
            gpus * mean->state_s[state] * mean_state_w(p, gpus, (RhPowerState)state);
        devices_j += e.device_j[state];
    }
    if (devices_j <= 0)
        return e;
    double nics = nodes * p->nics_per_node;
    e.host_j = nodes * host_w(p, gpus, devices_j / seconds) * seconds;
    e.nic_j = nics * p->nic_power_w.value * seconds;
    e.switches_j = gpus > p->gpus_per_node ? nics * p->switches_power_w.value * seconds : 0;
    double machines_j = devices_j + e.host_j + e.nic_j + e.switches_j;
    e.building_j = machines_j * (fmax(p->pue.value, 1) - 1);
    e.total_j = machines_j + e.building_j;
    return e;
}

RhPowerTimes rh_power_times_of(const RhPlatform *p, int32_t gpus, const RhEnergy *e)
{
    RhPowerTimes times = {{0}};
    for (int state = 0; state < RH_POWER_LAST; state++) {
        double watts = gpus * mean_state_w(p, gpus, (RhPowerState)state);
        times.state_s[state] = watts > 0 ? e->device_j[state] / watts : 0;
    }
    return times;
}

double rh_energy_node_w(const RhPlatform *p, int32_t gpus, const RhEnergy *e, double seconds)
{
    double joules = e->total_j - e->switches_j - e->building_j;
    return seconds > 0 ? joules / seconds / nodes_of(p, gpus) : 0;
}
