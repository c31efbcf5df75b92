#include "platforms/devices/extrapolated_time_sum.h"

const RhCalibratedRange *rh_extrapolation_shapes(const RhDevice *device, const RhKernel *kernel)
{
    const RhSurface *surface = device->used.any ? rh_device_surface(device, kernel) : NULL;
    return surface ? &surface->measured : &device->curves.shapes[rh_calibrated_range_kind(kernel)];
}

bool rh_extrapolation_untabled(const RhDevice *device, const RhKernel *kernel)
{
    return device->used.any && kernel->cls == RH_KERNEL_GEMM && kernel->grouped &&
           !rh_device_surface(device, kernel);
}

void rh_extrapolation_add(RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST], const RhDevice *device,
                          const RhKernel *kernel, double seconds)
{
    RhCalibratedKind kind = rh_calibrated_range_kind(kernel);
    if (kind == RH_CALIBRATED_RANGE_LAST ||
        rh_calibrated_range_beyond(rh_extrapolation_shapes(device, kernel), kind, kernel) < 0)
        return;
    RhExtrapolation *of = &beyond[kind];
    of->seconds += seconds;
    if (seconds > of->largest_s) {
        of->largest_s = seconds;
        of->largest = *kernel;
    }
}
