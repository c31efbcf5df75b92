#pragma once
/* The power model: power in W and energy in J.
 *
 * A device is in one state at a time (RhPowerState), the most demanding one; hidden work draws no
 * additional power. Each state is a fraction of the device's power, capped by its power limit. A
 * host's power rises with its devices' activity between two figures where both are known. NICs and
 * switches draw constant power; `pue` multiplies all. Unknown facts (0, or without a tag: an idle
 * host may be 0) count as nothing. Formula and sources: docs/theory/kernels.md. */
#include <stdbool.h>

#include "platforms/platform.h"

/* Seconds of a device in each state. */
typedef struct {
    double state_s[RH_POWER_LAST];
} RhPowerTimes;

typedef struct {
    double device_j[RH_POWER_LAST]; /* all devices, by state */
    double nic_j, host_j;           /* 0: unknown */
    double switches_j;              /* 0: unknown, or only one node */
    double building_j;              /* added by the PUE, such as cooling; 0: unknown */
    double total_j;                 /* 0: the device's power is unknown */
} RhEnergy;

const char *rh_power_state_name(RhPowerState state);
/* Returns the power in W of a device in a state, its full power where the state's fraction is
 * unknown; 0: its power is unknown. */
double rh_device_state_w(const RhDevice *device, RhPowerState state);
/* Checks that an idle host draws no more power than a busy one. RH_ERROR_USAGE states both. */
bool rh_power_of_host_agrees(const RhPlatform *platform, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the energy of the first `gpus` GPUs of the platform and of their share of its nodes, for
 * devices with the mean states `mean`. */
RhEnergy rh_energy_of(const RhPlatform *platform, int32_t gpus, const RhPowerTimes *mean);
/* Returns the mean states of an energy: the inverse of rh_energy_of() on the same platform. */
RhPowerTimes rh_power_times_of(const RhPlatform *platform, int32_t gpus, const RhEnergy *energy);
/* Returns the mean power in W over `seconds` of a node whose GPUs do the same, without switches and
 * building. */
double rh_energy_node_w(const RhPlatform *platform, int32_t gpus, const RhEnergy *energy,
                        double seconds);
