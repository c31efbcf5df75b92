#pragma once
/* Sums the time of kernels outside the calibrated ranges of a device's constants or its profile's
 * surfaces. */
#include "platforms/devices/device.h"

/* Sum over one kind of kernels. */
typedef struct {
    double seconds, largest_s; /* all kernels outside, and the longest of them */
    RhKernel largest;
} RhExtrapolation;

/* Adds a kernel of `seconds` to its kind if it lies outside. */
void rh_extrapolation_add(RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST], const RhDevice *device,
                          const RhKernel *kernel, double seconds);
/* Returns the calibrated range of a kernel: that of its surface, or else of the formula. The kernel
 * must be of a kind with shapes. */
const RhCalibratedRange *rh_extrapolation_shapes(const RhDevice *device, const RhKernel *kernel);
/* Returns whether a grouped GEMM of experts is timed by the formula although the device uses
 * surfaces. */
bool rh_extrapolation_untabled(const RhDevice *device, const RhKernel *kernel);
