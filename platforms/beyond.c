#include "platforms/beyond.h"

const RhShapes *rh_beyond_shapes(const RhDevice *device, const RhKernel *kernel)
{
    const RhSurface *surface = device->used.any ? rh_device_surface(device, kernel) : NULL;
    return surface ? &surface->measured : &device->curves.shapes[rh_shapes_kind(kernel)];
}

bool rh_beyond_untabled(const RhDevice *device, const RhKernel *kernel)
{
    return device->used.any && kernel->cls == RH_KERNEL_GEMM && kernel->grouped &&
           !rh_device_surface(device, kernel);
}

void rh_beyond_add(RhBeyond beyond[RH_SHAPES_LAST], const RhDevice *device, const RhKernel *kernel,
                   double seconds)
{
    RhShapesKind kind = rh_shapes_kind(kernel);
    if (kind == RH_SHAPES_LAST ||
        rh_shapes_beyond(rh_beyond_shapes(device, kernel), kind, kernel) < 0)
        return;
    RhBeyond *of = &beyond[kind];
    of->seconds += seconds;
    if (seconds > of->largest_s) {
        of->largest_s = seconds;
        of->largest = *kernel;
    }
}
