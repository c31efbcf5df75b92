#pragma once
/* What power is drawn, and what energy comes of it: the one home of the power model.
 *
 * A device is in one state at a time (RhPowerState), the most demanding thing that it does: what a
 * kernel hides draws nothing besides. Each state is a share of the device's power, and none passes
 * its power limit. A host draws more the more its devices do, between two figures where both are known. NICs and
 * switches draw the same whatever happens; `pue` multiplies all.
 * What is not known (a fact of 0, or of no tag: a host's at rest may be 0) counts nothing. Formula and sources: docs/theory/kernels.md. */
#include <stdbool.h>

#include "platforms/platform.h"

/* Seconds of a device in each state. */
typedef struct {
    double state_s[RH_POWER_LAST];
} RhPowerTimes;

typedef struct {
    double device_j[RH_POWER_LAST]; /* of all devices, by what they did */
    double nic_j, host_j;           /* 0: unknown */
    double switches_j;              /* 0: unknown, or one node alone */
    double building_j;              /* cooling and the like: what the PUE adds; 0: unknown */
    double total_j;                 /* 0: the device's power is unknown */
} RhEnergy;

const char *rh_power_state_name(RhPowerState state);
/* Watts that a device draws in a state; 0: its power is unknown. Where the state's share is unknown, all
 * of its power. */
double rh_device_state_w(const RhDevice *device, RhPowerState state);
/* Does a host at rest draw no more than at work? RH_ERROR_USAGE says both. */
bool rh_power_of_host_agrees(const RhPlatform *platform, GError **error);
/* Joules of the first `gpus` GPUs of the platform, and of their share of its nodes, each in the states of `mean`. */
RhEnergy rh_energy_of(const RhPlatform *platform, int32_t gpus, const RhPowerTimes *mean);
/* The states that an energy came of: rh_energy_of() the other way, on the platform it was of. */
RhPowerTimes rh_power_times_of(const RhPlatform *platform, int32_t gpus, const RhEnergy *energy);
/* Watts of a node whose GPUs all do the same, with what it has in it, switches and building left out: its mean over
 * `seconds`. */
double rh_energy_node_w(const RhPlatform *platform, int32_t gpus, const RhEnergy *energy,
                        double seconds);
