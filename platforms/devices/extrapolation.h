#pragma once
/* Kernels of which a device's constants, or its profile's tables, hold no such shape: how much of the time of some work
 * is theirs. Sums alone; whose work it is, who asks knows. */
#include "platforms/devices/device.h"

/* Of one kind of kernels. */
typedef struct {
    double seconds, largest_s; /* of all that lie beyond, and of the one that takes longest */
    RhKernel largest;
} RhExtrapolation;

/* Adds a kernel that takes `seconds`, by its kind, if it lies beyond. */
void rh_extrapolation_add(RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST], const RhDevice *device,
                          const RhKernel *kernel, double seconds);
/* The shapes that the kernel's time is from: of its surface or, where it has none, of its form. `kernel` is of a kind
 * that has shapes. */
const RhCalibratedRange *rh_extrapolation_shapes(const RhDevice *device, const RhKernel *kernel);
/* A time of experts by the form of single products, on a device that has tables of others. */
bool rh_extrapolation_untabled(const RhDevice *device, const RhKernel *kernel);
